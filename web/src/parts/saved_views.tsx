// Saved views: remembered in this browser by a name that is in the address too.
import { Button, Modal, TextInput } from '@mantine/core';
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import { useState, useSyncExternalStore, type FormEvent } from 'react';
import { Icon } from './icons';
import { addressOf, forgotten, NAME_PARAM, nameOf, remembered, standing, viewsFrom, type SavedView } from '../model/session/saved_views';
import { CopyButton, Empty } from './basics';

const KEY = 'railweave.views';
const listeners = new Set<() => void>();
const stored = () => localStorage.getItem(KEY) ?? '[]';
window.addEventListener('storage', (event) => event.key === KEY && listeners.forEach((listener) => listener()));
function store(views: SavedView[]) {
  localStorage.setItem(KEY, JSON.stringify(views));
  listeners.forEach((listener) => listener());
}
function useViews(): SavedView[] {
  return viewsFrom(useSyncExternalStore((listener) => { listeners.add(listener); return () => listeners.delete(listener); }, stored));
}

function useHere() {
  const location = useLocation();
  const search = location.search as Record<string, string | undefined>;
  return { path: location.pathname, search, name: search[NAME_PARAM] ?? '', address: addressOf(location.pathname, search) };
}

const linkTo = (to: string, name: string) => {
  const [path, query = ''] = to.split('?');
  return { to: path!, search: { ...Object.fromEntries(new URLSearchParams(query)), [NAME_PARAM]: name } };
};
const shared = (to: string, name: string) => `${window.location.origin}/console${addressOf(to.split('?')[0]!, Object.fromEntries(new URLSearchParams(to.split('?')[1] ?? '')), name)}`;

// Which view this is, where its address names one.
export function ViewBar() {
  const here = useHere();
  const views = useViews();
  const navigate = useNavigate();
  if (!here.name) return null;
  const stands = standing(views, here.name, here.address);
  return (
    <div className="view-bar" data-testid="view-bar">
      <span>View <b>{here.name}</b>{stands === 'changed' && <span className="dim">, changed</span>}</span>
      {stands !== 'remembered' && <button type="button" className="link-button" onClick={() => store(remembered(views, { name: here.name, to: here.address }))}>{stands === 'new' ? 'Remember it' : 'Save the change'}</button>}
      {stands !== 'new' && <button type="button" className="link-button" onClick={() => store(forgotten(views, here.name))}>Forget it</button>}
      <button type="button" className="link-button" onClick={() => void navigate({ to: '.', search: ((before: Record<string, string | undefined>) => ({ ...before, [NAME_PARAM]: undefined })) as never, replace: true })}>Close</button>
    </div>
  );
}

function Saved({ close }: { close: () => void }) {
  const here = useHere();
  const views = useViews();
  const navigate = useNavigate();
  const [name, setName] = useState(here.name);
  const save = (event: FormEvent) => {
    event.preventDefault();
    const called = nameOf(name);
    if (called === '') return;
    store(remembered(views, { name: called, to: here.address }));
    void navigate({ to: '.', search: ((before: Record<string, string | undefined>) => ({ ...before, [NAME_PARAM]: called })) as never, replace: true });
    close();
  };
  return (
    <Modal opened onClose={close} title="Saved views" lockScroll={false} closeButtonProps={{ 'aria-label': 'Close' }}>
      <div className="stack">
        <form className="row" onSubmit={save}>
          <TextInput style={{ flex: 1 }} label="Save what is shown now as" placeholder="Night shift" value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
          <Button type="submit" disabled={nameOf(name) === ''} style={{ alignSelf: 'flex-end' }}>Save</Button>
        </form>
        {views.length === 0 ? <Empty title="No view is saved in this browser" /> : (
          <ul className="list" aria-label="Saved views">
            {views.map((view) => (
              <li key={view.name}>
                <span className="what"><Link to={linkTo(view.to, view.name).to} search={linkTo(view.to, view.name).search as never} onClick={close}>{view.name}</Link> <span className="dim">{view.to}</span></span>
                <CopyButton text={shared(view.to, view.name)} what={`the link to ${view.name}`} />
                <button type="button" className="link-button" onClick={() => store(forgotten(views, view.name))}>Forget</button>
              </li>
            ))}
          </ul>
        )}
        <p className="dim">The name and all filters are in the address: its link shows others the same.</p>
      </div>
    </Modal>
  );
}

export function SavedViews() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="icon-button" aria-label="Saved views" title="Saved views" onClick={() => setOpen(true)}><Icon name="star" /></button>
      {open && <Saved close={() => setOpen(false)} />}
    </>
  );
}
