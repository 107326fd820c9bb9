// A form over fields (model/fields.ts), in a dialog. What is changed was read with its ETag, and is refused if someone
// else changed it since: the form then offers what it is now.
import { Button, Checkbox, Modal, NativeSelect, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore, type ReactNode } from 'react';
import { ProblemError } from '../api/client';
import { useSettings } from './settings';
import { errorsOf, valuesOf, type Field, type Row, type Values } from '../model/fields';
import { words, type Zone } from '../model/format';
import { Cli, Loading, ProblemBox } from './basics';

export interface Editing {
  title: string;
  fields: Field[];
  named?: string; // a new one: what its name is called
  load?: () => Promise<{ value: Record<string, unknown>; tag: string | null }>;
  start?: Record<string, unknown>; // of a new one
  save: (form: { name: string; values: Values; before: Values; zone: Zone; tag: string | null }) => Promise<unknown>;
  line?: (form: { name: string; values: Values; before: Values; zone: Zone }) => string;
  saved: string; // "research is changed"
  remove?: { label: string; run: (tag: string | null) => Promise<unknown> };
  note?: ReactNode;
  submit?: string;
}

function Rows({ field, rows, set }: { field: Field; rows: Row[]; set: (rows: Row[]) => void }) {
  const change = (at: number, name: string, value: string | boolean) => set(rows.map((row, i) => (i === at ? { ...row, [name]: value } : row)));
  return (
    <fieldset className="rows">
      <legend>{field.label}</legend>
      <table className="data">
        <thead><tr>{field.columns!.map((column) => <th key={column.name}>{column.label}</th>)}<th aria-label="Remove" /></tr></thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              {field.columns!.map((column) => (
                <td key={column.name}>
                  {column.kind === 'flag' ? (
                    <Checkbox size="xs" aria-label={`${column.label}, row ${i + 1}`} checked={row[column.name] === true} onChange={(event) => change(i, column.name, event.currentTarget.checked)} />
                  ) : (
                    <TextInput size="xs" aria-label={`${column.label}, row ${i + 1}`} value={String(row[column.name] ?? '')} onChange={(event) => change(i, column.name, event.currentTarget.value)} />
                  )}
                </td>
              ))}
              <td><button type="button" className="link-button" onClick={() => set(rows.filter((_, at) => at !== i))}>Remove</button></td>
            </tr>
          ))}
        </tbody>
      </table>
      <button type="button" className="link-button" onClick={() => set([...rows, Object.fromEntries(field.columns!.map((column) => [column.name, column.kind === 'flag' ? false : '']))])}>Add</button>
    </fieldset>
  );
}

function Input({ field, value, error, zone, set, first }: { field: Field; value: string | boolean | Row[]; error: string | undefined; zone: Zone; set: (value: string | boolean | Row[]) => void; first: boolean }) {
  if (field.kind === 'rows') return <Rows field={field} rows={value as Row[]} set={set} />;
  if (field.kind === 'flag') return <Checkbox className="wide" label={field.label} checked={value === true} onChange={(event) => set(event.currentTarget.checked)} />;
  if (field.kind === 'choice') {
    const options = [...new Set([...(field.options ?? []), String(value)])].filter((option) => option !== '' || field.nullable);
    return <NativeSelect label={field.label} description={field.hint} data={options.map((option) => ({ value: option, label: field.texts?.[option] ?? words(option) }))} value={String(value)} onChange={(event) => set(event.currentTarget.value)} />;
  }
  return (
    <TextInput
      label={field.label}
      description={field.kind === 'time' ? `${field.hint ? `${field.hint}, ` : ''}${zone === 'utc' ? 'UTC' : 'local time'}` : field.hint}
      type={field.kind === 'time' ? 'datetime-local' : 'text'}
      inputMode={field.kind === 'integer' ? 'numeric' : field.kind === 'number' ? 'decimal' : undefined}
      withAsterisk={field.required ?? false}
      value={String(value)}
      error={error}
      data-autofocus={first || undefined}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}

// What is typed right after a dialog opens goes into its first field: the dialog's own focus is set before the form is there.
const DIALOG_FOCUS_MS = 80;
function useFirstField() {
  const self = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const focus = () => {
      if (!self.current?.querySelector(':focus')) self.current?.querySelector<HTMLElement>('[data-autofocus]')?.focus();
    };
    focus();
    const later = setTimeout(focus, DIALOG_FOCUS_MS);
    return () => clearTimeout(later);
  }, []);
  return self;
}

function Form({ editing, value, tag, close, reload }: { editing: Editing; value: Record<string, unknown>; tag: string | null; close: () => void; reload: (() => void) | undefined }) {
  const { zone } = useSettings();
  const queries = useQueryClient();
  const [before] = useState(() => valuesOf(editing.fields, value, zone));
  const [values, setValues] = useState(before);
  const [name, setName] = useState('');
  const [tried, setTried] = useState(false);
  const errors = errorsOf(editing.fields, values, zone);
  if (editing.named && !/^[A-Za-z0-9_.-]{1,63}$/.test(name)) errors.name = 'letters, digits, -, _ and .';
  const ok = Object.keys(errors).length === 0;
  const done = (message: string) => {
    notifications.show({ message, color: 'green' });
    void queries.invalidateQueries();
    close();
  };
  const form = { name, values, before, zone };
  const self = useFirstField();
  const save = useMutation({ mutationFn: () => editing.save({ ...form, tag }), onSuccess: () => done(editing.named ? `${name} is set` : editing.saved) });
  const remove = useMutation({ mutationFn: () => editing.remove!.run(tag), onSuccess: () => done('Removed') });
  const error = save.error ?? remove.error;
  const outdated = error instanceof ProblemError && error.status === 412;
  return (
    <form
      className="form"
      ref={self}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (ok) save.mutate();
      }}
    >
      {editing.named && <TextInput label={editing.named} value={name} error={tried ? errors.name : undefined} onChange={(event) => setName(event.currentTarget.value)} withAsterisk data-autofocus />}
      <div className="two fields">
        {editing.fields.filter((field) => field.when?.(values) ?? true).map((field, at) => (
          <Input key={field.name} first={at === 0 && !editing.named} field={field} value={values[field.name] ?? ''} error={tried || values[field.name] !== before[field.name] ? errors[field.name] : undefined} zone={zone} set={(next) => setValues({ ...values, [field.name]: next })} />
        ))}
      </div>
      {editing.note}
      {error && <ProblemBox error={error} />}
      {outdated && reload && <div className="row"><button type="button" className="link-button" onClick={reload}>Load what it is now</button></div>}
      {editing.line && <Cli line={editing.line(form)} />}
      <div className="row" style={{ justifyContent: 'flex-end' }}>
        {editing.remove && <Button variant="subtle" color="red" loading={remove.isPending} onClick={() => remove.mutate()}>{editing.remove.label}</Button>}
        <span className="grow" />
        <Button variant="default" onClick={close}>Close</Button>
        <Button type="submit" loading={save.isPending} disabled={tried && !ok}>{editing.submit ?? 'Save'}</Button>
      </div>
    </form>
  );
}

export function EditDialog({ editing, close }: { editing: Editing; close: () => void }) {
  const [round, setRound] = useState(0);
  // Read for this dialog alone, and once: what is typed is not lost to a refetch.
  const loaded = useQuery({ queryKey: ['edit', editing.title, round], queryFn: editing.load ?? (() => Promise.resolve({ value: editing.start ?? {}, tag: null })), gcTime: 0, staleTime: Infinity, retry: false });
  return (
    <Modal opened onClose={close} title={editing.title} size="lg" lockScroll={false} closeButtonProps={{ 'aria-label': 'Close' }}>
      {loaded.error ? (
        <ProblemBox error={loaded.error} retry={() => void loaded.refetch()} />
      ) : loaded.data ? (
        <Form key={round} editing={editing} value={loaded.data.value} tag={loaded.data.tag} close={close} reload={editing.load ? () => setRound(round + 1) : undefined} />
      ) : (
        <Loading />
      )}
    </Modal>
  );
}

// The dialog that is open is the frame's, not of the row whose button opened it: what is typed outlives a row that goes,
// as that of an alarm that is over, or that stands elsewhere now.
let open: Editing | null = null;
const listeners = new Set<() => void>();
function showDialog(editing: Editing | null) {
  open = editing;
  listeners.forEach((listener) => listener());
}
export function Dialogs() {
  const editing = useSyncExternalStore((listener) => { listeners.add(listener); return () => listeners.delete(listener); }, () => open);
  useEffect(() => () => { open = null; }, []);
  return editing && <EditDialog key={editing.title} editing={editing} close={() => showDialog(null)} />;
}

// A button that opens the dialog.
export function EditButton({ label, editing, plain }: { label: string; editing: Editing; plain?: boolean }) {
  const show = () => showDialog(editing);
  return plain ? <button type="button" className="link-button" onClick={show}>{label}</button> : <Button size="xs" variant="default" onClick={show}>{label}</Button>;
}
