// Asks who the user is where the service does. What is behind it is shown once a token is taken and its role is known.
import { Button, PasswordInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { callerQuery } from '../api/caller';
import { signIn } from '../api/client';
import { begin, signInMethods, watch } from '../api/oidc';
import { Loading, ProblemBox } from '../parts/basics';

function TokenForm() {
  const queries = useQueryClient();
  const [text, setText] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signIn.use(text.trim());
    setText('');
    void queries.resetQueries();
  };
  return (
    <form onSubmit={submit} aria-label="Sign in">
      <PasswordInput label="Token" description="Of this service, or of its identity provider" placeholder="rw_…" value={text} onChange={(event) => setText(event.currentTarget.value)} required />
      <Button type="submit" disabled={text.trim() === ''}>
        Sign in
      </Button>
      <p className="dim">
        An administrator issues one: <code>railweave tokens issue NAME --role viewer</code>. It is kept until this tab is closed.
      </p>
    </form>
  );
}

function Methods() {
  const methods = useQuery({ queryKey: ['sign-in'], queryFn: signInMethods, staleTime: Infinity });
  const [failure, setFailure] = useState('');
  const [leaving, setLeaving] = useState(false);
  const oidc = methods.data?.oidc;
  if (!oidc) return methods.isPending ? <Loading lines={2} /> : <TokenForm />;
  const leave = () => {
    setLeaving(true);
    begin(oidc).catch((error: unknown) => {
      setLeaving(false);
      setFailure(`The identity provider cannot be reached: ${error instanceof Error ? error.message : String(error)}`);
    });
  };
  return (
    <>
      <Button onClick={leave} loading={leaving} autoFocus>
        Sign in with {new URL(oidc.issuer).host}
      </Button>
      {failure && <p role="alert">{failure}</p>}
      <details>
        <summary className="dim">With a token</summary>
        <TokenForm />
      </details>
    </>
  );
}

// refusal: why the provider did not sign the user in.
export function SignIn({ children, refusal }: { children: ReactNode; refusal?: string | undefined }) {
  const refused = useSyncExternalStore(signIn.subscribe, signIn.refused);
  const queries = useQueryClient();
  const caller = useQuery({ ...callerQuery(), enabled: refused === null });
  const known = caller.data !== undefined && refused === null;
  useEffect(() => {
    if (known) watch(() => void queries.invalidateQueries({ queryKey: ['whoami'] }));
  }, [known, queries]);
  if (refused === null) {
    if (caller.data) return children;
    return <main className="sign-in">{caller.error ? <ProblemBox error={caller.error} retry={() => void caller.refetch()} /> : <Loading />}</main>;
  }
  return (
    <main className="sign-in">
      <div className="stack">
        <h1>Railweave</h1>
        {refusal && <p role="alert">{refusal}</p>}
        <p className="dim">{refused.code === 'auth.missing' ? 'This service asks who you are.' : (refused.detail ?? 'The token was refused.')}</p>
        <Methods />
      </div>
    </main>
  );
}
