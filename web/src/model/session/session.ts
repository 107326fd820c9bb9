// A session with an identity provider, as this tab keeps it.
export interface Session {
  idToken: string | null;
  refresh: string | null; // null: it cannot be renewed
  from: number; // ms
  until: number;
}

// When it is to be renewed: after three quarters of its time, at most five minutes before its end; one that cannot be ends
// at its end.
export function dueAt(session: Session): number {
  if (!session.refresh) return session.until;
  return session.until - Math.min((session.until - session.from) / 4, 5 * 60_000);
}
