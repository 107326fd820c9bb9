// One table for all lists: sorting, a text filter and its export; rows beyond the window are not rendered, so that a
// hundred thousand lines scroll as ten do. Filter and order are in the URL.
import {
  createColumnHelper,
  getCoreRowModel,
  getSortedRowModel,
  useReactTable,
  type ColumnDef,
  type SortingState,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { flushSync } from 'react-dom';
import { useParam } from './params';
import { csv, type Cell } from '../model/csv';
import { count } from '../model/format';
import { Empty } from './basics';

export interface Column<T> {
  id: string;
  name: string;
  value: (row: T) => Cell; // sorts, filters and exports
  cell?: (row: T) => ReactNode; // how it is shown
  num?: boolean;
  wrap?: boolean;
}

const ROW = 30;

function download(name: string, type: string, text: string) {
  saveBlob(name, new Blob([text], { type }));
}

export function saveBlob(name: string, blob: Blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function saveFile(name: string, text: string, type = 'application/json') {
  download(name, type, text);
}

export function matches<T>(row: T, columns: Column<T>[], needle: string): boolean {
  return needle
    .toLowerCase()
    .split(/\s+/)
    .every((word) => columns.some((column) => String(column.value(row) ?? '').toLowerCase().includes(word)));
}

// A list of which only the beginning is here: what is filtered for is asked of the service too.
export interface Beginning<T> {
  of: string; // what these are: "links"
  ask?: (text: string) => Promise<T[]>;
}
const ASK_MS = 300;

function useAsked<T>(name: string, filter: string, beginning: Beginning<T> | undefined): { rows: T[]; pending: boolean } {
  const [typed] = useDebouncedValue(filter.trim(), ASK_MS);
  const ask = beginning?.ask;
  const asked = useQuery({ queryKey: [name, 'asked', typed], queryFn: () => ask!(typed), enabled: ask !== undefined && typed.length > 1, retry: false });
  return { rows: asked.data ?? [], pending: ask !== undefined && filter.trim().length > 1 && (asked.isFetching || typed !== filter.trim()) };
}

// Rows that are not in view are not in the document; on paper all are, to a bound that a browser can lay out.
const MOST_PRINTED = 5000;
function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const begin = () => flushSync(() => setPrinting(true));
    const end = () => setPrinting(false);
    window.addEventListener('beforeprint', begin);
    window.addEventListener('afterprint', end);
    return () => {
      window.removeEventListener('beforeprint', begin);
      window.removeEventListener('afterprint', end);
    };
  }, []);
  return printing;
}

interface Props<T> {
  name: string; // of the file, and of its URL parameters
  rows: T[];
  columns: Column<T>[];
  rowKey: (row: T) => string;
  empty?: ReactNode;
  filters?: ReactNode;
  height?: number | string;
  note?: ReactNode;
  tools?: boolean;
  beginning?: Beginning<T> | undefined;
}

export function DataTable<T>({ name, rows: given, columns, rowKey, empty, filters, height = 'calc(100vh - 250px)', note, tools = true, beginning }: Props<T>) {
  const [filter, setFilter] = useParam(`${name}.q`);
  const [order, setOrder] = useParam(`${name}.sort`);
  const box = useRef<HTMLDivElement>(null);

  const asked = useAsked(name, filter, beginning);
  const rows = useMemo(() => {
    if (asked.rows.length === 0) return given;
    const known = new Set(given.map(rowKey));
    return [...given, ...asked.rows.filter((row) => !known.has(rowKey(row)))];
  }, [given, asked.rows, rowKey]);
  const printing = usePrinting();
  const shown = useMemo(() => (filter ? rows.filter((row) => matches(row, columns, filter)) : rows), [rows, columns, filter]);
  const sorting: SortingState = useMemo(
    () => (order ? [{ id: order.replace(/^-/, ''), desc: order.startsWith('-') }] : []),
    [order],
  );
  const defs = useMemo(() => {
    const helper = createColumnHelper<T>();
    return columns.map((column) =>
      helper.accessor((row) => column.value(row) ?? undefined, { id: column.id, header: column.name, sortUndefined: 'last' }),
    ) as ColumnDef<T>[];
  }, [columns]);
  const table = useReactTable({
    data: shown,
    columns: defs,
    state: { sorting },
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
  });
  const lines = table.getRowModel().rows;
  const position = useMemo(() => new Map(lines.map((line, i) => [line.id, i])), [lines]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 12,
    enabled: lines.length > 200,
  });
  const some = lines.length > 200 && !printing;
  const items = virtual.getVirtualItems();
  const before = some ? (items[0]?.start ?? 0) : 0;
  const after = some ? virtual.getTotalSize() - (items.at(-1)?.end ?? 0) : 0;
  const at = (line: (typeof lines)[number]) => position.get(line.id) ?? 0;
  const visible = some ? items.map((item) => lines[item.index]!) : printing ? lines.slice(0, MOST_PRINTED) : lines;
  const part = beginning && !filter ? ` of the first ${count(given.length)}` : beginning ? ' of these' : '';

  const exported = () => lines.map((line) => columns.map((column) => column.value(line.original)));
  return (
    <>
      {tools && (
        <div className="table-tools">
          <input
            className="filter"
            type="search"
            placeholder="Filter"
            aria-label={`Filter ${name}`}
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
          {filters}
          <span className="grow" />
          <span className="dim" aria-live="polite">
            {lines.length === rows.length ? count(rows.length) : `${count(lines.length)} of ${count(rows.length)}`}
            {beginning && ` (the first ${count(given.length)} ${beginning.of}; a filter asks the service for others)`}
            {note}
          </span>
          <button type="button" className="link-button" onClick={() => download(`${name}.csv`, 'text/csv', csv(columns.map((c) => c.name), exported()))}>
            CSV{part}
          </button>
          <button type="button" className="link-button" onClick={() => download(`${name}.json`, 'application/json', JSON.stringify(lines.map((line) => line.original), null, 2))}>
            JSON{part}
          </button>
        </div>
      )}
      {lines.length === 0 ? (
        asked.pending ? (
          <Empty title="Asking the service" />
        ) : rows.length > 0 ? (
          <Empty title={beginning?.ask ? `Nothing matches “${filter}”, here or at the service` : 'Nothing matches this filter'}>
            <button type="button" className="link-button" onClick={() => setFilter('')}>Show {beginning ? 'the first' : 'all'} {count(given.length)}</button>
          </Empty>
        ) : (
          (empty ?? <Empty title="Nothing here" />)
        )
      ) : (
        <>
        {printing && (lines.length > MOST_PRINTED || beginning) && <p className="print-note">Printed: {lines.length > MOST_PRINTED ? `the first ${count(MOST_PRINTED)} of ${count(lines.length)} lines` : `${count(lines.length)} lines`}{beginning && `, of the first ${count(given.length)} ${beginning.of} alone`}. The command line has all.</p>}
        <div className="table-box" ref={box} style={{ maxHeight: height }} tabIndex={0} role="region" aria-label={`Table of ${name}`}>
          <table className="data" aria-rowcount={lines.length + 1}>
            <thead>
              <tr>
                {columns.map((column) => {
                  const sorted = sorting[0]?.id === column.id ? (sorting[0].desc ? 'descending' : 'ascending') : undefined;
                  return (
                    <th key={column.id} className={column.num ? 'num' : ''} aria-sort={sorted} scope="col">
                      {column.name === '' ? <span className="sr-only">Actions</span> : <button type="button" onClick={() => setOrder(sorted === 'ascending' ? `-${column.id}` : sorted ? '' : column.id)}>
                        {column.name}
                        {sorted && <span aria-hidden="true">{sorted === 'ascending' ? '↑' : '↓'}</span>}
                      </button>}
                    </th>
                  );
                })}
              </tr>
            </thead>
            <tbody>
              {before > 0 && <tr aria-hidden="true" style={{ height: before }} />}
              {visible.map((line) => (
                <tr key={rowKey(line.original)} aria-rowindex={at(line) + 2} data-index={at(line)} ref={some ? virtual.measureElement : undefined}>
                  {columns.map((column) => (
                    <td key={column.id} data-name={column.name} className={`${column.num ? 'num' : ''}${column.wrap ? ' wrap' : ''}`}>
                      {column.cell ? column.cell(line.original) : (column.value(line.original) ?? <span className="dim">–</span>)}
                    </td>
                  ))}
                </tr>
              ))}
              {after > 0 && <tr aria-hidden="true" style={{ height: after }} />}
            </tbody>
          </table>
        </div>
        </>
      )}
    </>
  );
}
