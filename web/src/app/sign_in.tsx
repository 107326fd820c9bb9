// Asks who the user is where the service does. What is behind it is shown once a token is taken and its role is known.
import { Button, PasswordInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Fragment, type FormEvent, type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { callerQuery } from '../api/caller';
import { signIn, SIGNED_OUT } from '../api/client';
import { begin, beginApart, signInMethods, watch } from '../api/oidc';
import { Loading, ProblemBox } from '../parts/basics';

function TokenForm() {
  const queries = useQueryClient();
  const [text, setText] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signIn.use(text.trim());
    setText('');
    void queries.resetQueries({ queryKey: ['whoami'] });
  };
  return (
    <form onSubmit={submit} aria-label="Sign in">
      <PasswordInput label="Token" description="Of this service, or of its identity provider" placeholder="rw_…" value={text} onChange={(event) => setText(event.currentTarget.value)} required />
      <Button type="submit" disabled={text.trim() === ''}>
        Sign in
      </Button>
      <p className="dim">
        An administrator issues one: <code>railweave tokens issue NAME --role viewer</code>. It is kept until the last tab of this console is closed.
      </p>
    </form>
  );
}

// kept: there is a page behind this that must not be left.
function Methods({ kept }: { kept: boolean }) {
  const methods = useQuery({ queryKey: ['sign-in'], queryFn: signInMethods, staleTime: Infinity });
  const [failure, setFailure] = useState('');
  const [leaving, setLeaving] = useState(false);
  const oidc = methods.data?.oidc;
  if (!oidc) return methods.isPending ? <Loading lines={2} /> : <TokenForm />;
  const leave = () => {
    if (kept && beginApart()) return;
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
  // Whose page it is. When a session ends, what was typed stays behind the sign-in, for the same user alone.
  const [owner, setOwner] = useState<string>();
  const who = caller.data && refused === null ? `${caller.data.name} ${caller.data.role} ${caller.data.tenant ?? ''}` : undefined;
  useEffect(() => {
    if (refused?.code === SIGNED_OUT) setOwner(undefined);
    if (who === undefined || who === owner) return;
    queries.removeQueries({ predicate: (query) => query.queryKey[0] !== 'whoami' }); // what one was shown is not another's
    setOwner(who);
  }, [who, owner, refused, queries]);
  useEffect(() => {
    if (known) void queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== 'whoami' });
  }, [known, queries]);
  useEffect(() => {
    if (known) watch(() => void queries.invalidateQueries({ queryKey: ['whoami'] }));
  }, [known, queries]);
  const isOwn = who !== undefined && who === owner;
  const page = owner === undefined ? null : <div key="page" className="page" hidden={!isOwn}><Fragment key={owner}>{children}</Fragment></div>;
  if (isOwn) return <>{page}</>;
  if (refused === null) {
    return <>{page}<main className="sign-in">{caller.error ? <ProblemBox error={caller.error} retry={() => void caller.refetch()} /> : <Loading />}</main></>;
  }
  return (
    <>
      {page}
      <main className="sign-in">
        <div className="stack">
          <h1>Railweave</h1>
          {refusal && <p role="alert">{refusal}</p>}
          <p className="dim">{refused.code === 'auth.missing' ? 'This service asks who you are.' : (refused.detail ?? 'The token was refused.')}</p>
          {page && <p>Your session has ended. What you typed is kept: sign in again, in a window that opens for it, and the page is as you left it.</p>}
          <Methods kept={page !== null} />
        </div>
      </main>
    </>
  );
}
