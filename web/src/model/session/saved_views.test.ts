import { describe, expect, it } from 'vitest';
import { addressOf, forgotten, remembered, standing, viewsFrom, type SavedView } from './saved_views';

describe('saved views', () => {
  const night: SavedView = { name: 'Night', to: '/alarms?severity=critical' };
  it('are addresses with a name', () => {
    expect(addressOf('/alarms', { severity: 'critical', kind: undefined }, 'Night shift')).toBe('/alarms?severity=critical&saved=Night+shift');
    expect(addressOf('/alarms', { severity: 'critical', saved: 'Night' })).toBe('/alarms?severity=critical');
    expect(addressOf('', {})).toBe('/');
  });
  it('are one for each name, and known again', () => {
    const all = remembered(remembered([], night), { name: 'Links', to: '/fabric?view=links' });
    expect(all.map((one) => one.name)).toEqual(['Links', 'Night']);
    expect(remembered(all, { ...night, to: '/alarms' })).toEqual([{ name: 'Night', to: '/alarms' }, all[0]]);
    expect(standing(all, 'Night', night.to)).toBe('remembered');
    expect(standing(all, 'Night', '/alarms')).toBe('changed');
    expect(standing(all, 'Other', '/alarms')).toBe('new');
    expect(forgotten(all, 'Night')).toEqual([{ name: 'Links', to: '/fabric?view=links' }]);
  });
  it('are read from what anyone may have written there', () => {
    expect(viewsFrom(JSON.stringify([night, { name: 1, to: '/' }, { name: 'x', to: 'https://elsewhere' }]))).toEqual([night]);
    expect(viewsFrom('{')).toEqual([]);
    expect(viewsFrom(null)).toEqual([]);
  });
});
