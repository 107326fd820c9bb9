// Forms as data: what a resource's fields are called, how people write them, and the body that they make. Pure.
import { parseDuration, type Zone } from './format';

export interface Field {
  name: string; // as the contract has it
  label: string;
  kind: 'text' | 'integer' | 'number' | 'choice' | 'flag' | 'list' | 'time' | 'duration' | 'rows';
  nullable?: boolean; // empty is null; else an empty field is left out
  required?: boolean;
  hint?: string;
  options?: string[]; // of a choice
  texts?: Record<string, string>; // of its options, where they are not their words
  columns?: Field[]; // of rows
  when?: (values: Values) => boolean; // shown, and part of the body, only then
}

export type Row = Record<string, string | boolean>;
export type Values = Record<string, string | boolean | Row[]>;
type Json = Record<string, unknown>;

// "36h", "1d 12h" or ISO 8601 -> ISO 8601; undefined: none of them.
export function durationOf(text: string): string | undefined {
  const given = text.trim();
  if (parseDuration(given.toUpperCase()) !== undefined) return given.toUpperCase();
  const match = /^(?:(\d+)\s*w)?\s*(?:(\d+)\s*d)?\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*m(?:in)?)?\s*(?:(\d+)\s*s)?$/i.exec(given);
  if (given === '' || !match) return undefined;
  const [weeks, days, hours, minutes, seconds] = match.slice(1);
  const time = `${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${seconds ? `${seconds}S` : ''}`;
  return `P${weeks ? `${weeks}W` : ''}${days ? `${days}D` : ''}${time ? `T${time}` : ''}`;
}

// Of an <input type="datetime-local">, which has no zone.
export function toLocalInput(iso: string, zone: Zone): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return '';
  const shifted = zone === 'utc' ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}
export function fromLocalInput(text: string, zone: Zone): string | undefined {
  const date = new Date(zone === 'utc' ? `${text}Z` : text);
  return text === '' || Number.isNaN(date.getTime()) ? undefined : `${date.toISOString().slice(0, 19)}Z`;
}

const shown = (field: Field, values: Values) => field.when?.(values) ?? true;

export function valuesOf(fields: Field[], from: Json, zone: Zone): Values {
  const values: Values = {};
  for (const field of fields) {
    const value = from[field.name];
    if (field.kind === 'flag') values[field.name] = value === true;
    else if (field.kind === 'rows') values[field.name] = ((value as Json[] | undefined) ?? []).map((row) => valuesOf(field.columns!, row, zone) as Row);
    else if (value === undefined || value === null) values[field.name] = field.kind === 'choice' && !field.nullable ? (field.options?.[0] ?? '') : '';
    else if (field.kind === 'list') values[field.name] = (value as string[]).join(', ');
    else if (field.kind === 'time') values[field.name] = toLocalInput(String(value), zone);
    else values[field.name] = String(value);
  }
  return values;
}

export function errorsOf(fields: Field[], values: Values, zone: Zone): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const field of fields) {
    if (!shown(field, values)) continue;
    const value = values[field.name];
    if (field.kind === 'rows') {
      for (const row of value as Row[]) Object.values(errorsOf(field.columns!, row, zone)).forEach((error) => (errors[field.name] = error));
      continue;
    }
    const text = typeof value === 'string' ? value.trim() : '';
    if (field.kind === 'flag') continue;
    if (text === '') {
      if (field.required) errors[field.name] = `${field.label.toLowerCase()} is needed`;
    } else if (field.kind === 'integer' && !/^-?\d+$/.test(text)) errors[field.name] = 'a whole number';
    else if (field.kind === 'number' && !(Number(text) >= 0)) errors[field.name] = 'a number';
    else if (field.kind === 'duration' && durationOf(text) === undefined) errors[field.name] = 'like 36h, 90m or PT36H';
    else if (field.kind === 'time' && fromLocalInput(text, zone) === undefined) errors[field.name] = 'a time';
  }
  return errors;
}

function valueOf(field: Field, value: string | boolean | Row[], zone: Zone): unknown {
  if (field.kind === 'flag') return value === true;
  if (field.kind === 'rows') return (value as Row[]).map((row) => bodyOf(field.columns!, row, zone));
  const text = (value as string).trim();
  if (field.kind === 'list') {
    const items = text.split(/[\s,]+/).filter(Boolean);
    return items.length > 0 || !field.nullable ? items : null;
  }
  if (text === '') return field.nullable ? null : undefined;
  if (field.kind === 'integer' || field.kind === 'number') return Number(text);
  if (field.kind === 'duration') return durationOf(text);
  if (field.kind === 'time') return fromLocalInput(text, zone);
  return text;
}

// All fields: of a PUT, which replaces.
export function bodyOf(fields: Field[], values: Values, zone: Zone): Json {
  const body: Json = {};
  for (const field of fields) {
    if (!shown(field, values)) continue;
    const value = valueOf(field, values[field.name] ?? '', zone);
    if (value !== undefined) body[field.name] = value;
    else if (field.kind === 'text' && !field.required) body[field.name] = '';
  }
  return body;
}

// Only what differs: of a merge patch.
export function changesOf(fields: Field[], before: Values, after: Values, zone: Zone): Json {
  const differing = fields.filter((field) => JSON.stringify(before[field.name]) !== JSON.stringify(after[field.name]));
  return bodyOf(differing, after, zone);
}
