// A form over fields (model/fields.ts), in a dialog. What is changed was read with its ETag, and is refused if someone
// else changed it since: the form then offers what it is now.
import { Button, Checkbox, Modal, NativeSelect, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { ProblemError } from '../api/client';
import { useSettings } from '../app/settings';
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

function Input({ field, value, error, zone, set }: { field: Field; value: string | boolean | Row[]; error: string | undefined; zone: Zone; set: (value: string | boolean | Row[]) => void }) {
  if (field.kind === 'rows') return <Rows field={field} rows={value as Row[]} set={set} />;
  if (field.kind === 'flag') return <Checkbox className="wide" label={field.label} checked={value === true} onChange={(event) => set(event.currentTarget.checked)} />;
  if (field.kind === 'choice') {
    const options = [...new Set([...(field.options ?? []), String(value)])].filter((option) => option !== '' || field.nullable);
    return <NativeSelect label={field.label} description={field.hint} data={options.map((option) => ({ value: option, label: words(option) }))} value={String(value)} onChange={(event) => set(event.currentTarget.value)} />;
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
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
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
  const save = useMutation({ mutationFn: () => editing.save({ ...form, tag }), onSuccess: () => done(editing.named ? `${name} is set` : editing.saved) });
  const remove = useMutation({ mutationFn: () => editing.remove!.run(tag), onSuccess: () => done('Removed') });
  const error = save.error ?? remove.error;
  const outdated = error instanceof ProblemError && error.status === 412;
  return (
    <form
      className="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (ok) save.mutate();
      }}
    >
      {editing.named && <TextInput label={editing.named} value={name} error={tried ? errors.name : undefined} onChange={(event) => setName(event.currentTarget.value)} withAsterisk data-autofocus />}
      <div className="two fields">
        {editing.fields.filter((field) => field.when?.(values) ?? true).map((field) => (
          <Input key={field.name} field={field} value={values[field.name] ?? ''} error={tried || values[field.name] !== before[field.name] ? errors[field.name] : undefined} zone={zone} set={(next) => setValues({ ...values, [field.name]: next })} />
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

// A button that opens the dialog.
export function EditButton({ label, editing, plain }: { label: string; editing: Editing; plain?: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      {plain ? <button type="button" className="link-button" onClick={() => setOpen(true)}>{label}</button> : <Button size="xs" variant="default" onClick={() => setOpen(true)}>{label}</Button>}
      {open && <EditDialog editing={editing} close={() => setOpen(false)} />}
    </>
  );
}
