// Who the service takes this tab for, and what that role may call. Known before any view is shown.
import { queryOptions, useQuery } from '@tanstack/react-query';
import { mayCall, type Caller, type Operation } from '../model/session/access';
import { body, client, limitTo } from './client';
import roles from './roles.json';

const AGAIN_MS = 3000;

export const callerQuery = () =>
  queryOptions({
    queryKey: ['whoami'],
    queryFn: async () => {
      const caller = await body(client.GET('/v1/whoami'));
      limitTo((operation) => mayCall(roles, caller.role, operation)); // before any other query is made
      return caller;
    },
    staleTime: 5 * 60_000,
    // Nothing is shown before the caller is known, so nothing else would ask again.
    refetchInterval: (query) => (query.state.status === 'error' ? AGAIN_MS : false),
  });

export function useCaller(): Caller | undefined {
  return useQuery(callerQuery()).data;
}

export function useMay(): (operation: Operation) => boolean {
  const caller = useCaller();
  return (operation) => mayCall(roles, caller?.role, operation);
}
