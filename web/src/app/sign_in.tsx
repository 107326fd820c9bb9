// Asks for a token where the service does. What is behind it is shown once a token is taken and its role is known.
import { Button, PasswordInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState, useSyncExternalStore } from 'react';
import { callerQuery } from '../api/caller';
import { signIn } from '../api/client';
import { Loading, ProblemBox } from '../parts/basics';

export function SignIn({ children }: { children: ReactNode }) {
  const refused = useSyncExternalStore(signIn.subscribe, signIn.refused);
  const queries = useQueryClient();
  const [text, setText] = useState('');
  const caller = useQuery({ ...callerQuery(), enabled: refused === null });
  if (refused === null) {
    if (caller.data) return children;
    return <main className="sign-in">{caller.error ? <ProblemBox error={caller.error} retry={() => void caller.refetch()} /> : <Loading />}</main>;
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signIn.use(text.trim());
    setText('');
    void queries.resetQueries();
  };
  return (
    <main className="sign-in">
      <form onSubmit={submit} aria-label="Sign in">
        <h1>Railweave</h1>
        <p className="dim">{refused.code === 'auth.missing' ? 'This service asks for a token.' : (refused.detail ?? 'The token was refused.')}</p>
        <PasswordInput label="Token" description="Of this service, or of its identity provider" placeholder="rw_…" value={text} onChange={(event) => setText(event.currentTarget.value)} autoFocus required />
        <Button type="submit" disabled={text.trim() === ''}>
          Sign in
        </Button>
        <p className="dim">
          An administrator issues one: <code>railweave tokens issue NAME --role viewer</code>. It is kept until this tab is closed.
        </p>
      </form>
    </main>
  );
}
