import { describe, expect, it } from 'vitest';
import { command, quoted } from './cli';
import { csv } from './csv';
import { ago, bytes, duration, microseconds, milliseconds, parseDuration, rate, time, words } from './format';

describe('numbers', () => {
  it('writes rates with their unit', () => {
    expect([0, 0.5, 400, 1000, 51200].map(rate)).toEqual(['0 Gb/s', '500 Mb/s', '400 Gb/s', '1 Tb/s', '51.2 Tb/s']);
  });
  it('writes bytes decimally', () => {
    expect([0, 999, 1000, 1.5e12].map(bytes)).toEqual(['0 B', '999 B', '1 kB', '1.5 TB']);
  });
  it('writes times from microseconds to days', () => {
    expect([0.25, 12.34, 794, 9999].map(milliseconds)).toEqual(['250 µs', '12.3 ms', '794 ms', '9,999 ms']);
    expect(microseconds(3124)).toBe('3.1 ms');
    expect(milliseconds(null)).toBe('–');
    expect([0, 59_000, 3_600_000, 93_780_000].map(duration)).toEqual(['0 s', '59 s', '1 h', '1 d 2 h']);
  });
  it('says how long ago, and how long until', () => {
    const now = Date.parse('2026-11-22T12:00:00Z');
    expect(ago('2026-11-22T11:59:58Z', now)).toBe('now');
    expect(ago('2026-11-22T11:00:00Z', now)).toBe('1 h ago');
    expect(ago('2026-11-22T13:30:00Z', now)).toBe('in 1 h 30 min');
  });
  it('keeps what is no time', () => {
    expect(time('2026-11-22T12:00:00.250000Z', 'utc')).toBe('2026-11-22 12:00:00Z');
    expect(time('never', 'utc')).toBe('never');
  });
  it('reads ISO 8601 durations, and nothing else', () => {
    expect(parseDuration('PT36H')).toBe(36 * 3_600_000);
    expect(parseDuration('P1W1DT1H1M1S')).toBe(((8 * 24 + 1) * 60 + 1) * 60_000 + 1000);
    for (const bad of ['', 'P', 'PT', '36H', 'P1Y', 'PT1.5H']) expect(parseDuration(bad), bad).toBeUndefined();
  });
  it('puts the contract\'s names in words', () => {
    expect(['nvlinkDomain', 'job.placed', 'atRisk', 'qosClasses.put', 'no_route'].map(words)).toEqual(['NVLink domain', 'job placed', 'at risk', 'qos classes put', 'no route']);
  });
});

describe('files', () => {
  it('quotes as RFC 4180 says, and runs no formula', () => {
    expect(csv(['a', 'b'], [['x,y', 'say "hi"'], [null, 3], ['=1+1', -5]])).toBe('a,b\r\n"x,y","say ""hi"""\r\n,3\r\n\'=1+1,-5\r\n');
  });
});

describe('command lines', () => {
  it('quotes for a POSIX shell', () => {
    expect(quoted('dgx-017')).toBe('dgx-017');
    expect(quoted("it's $HOME")).toBe(`'it'\\''s $HOME'`);
    expect(quoted('')).toBe("''");
    expect(command('links', 'drain', 'a/1--b/2', false, undefined, '--reason', 'new cable')).toBe("railweave links drain a/1--b/2 --reason 'new cable'");
  });
});
