// Who the service takes this tab for, and what that role may call. Known before any view is shown.
import { queryOptions, useQuery } from '@tanstack/react-query';
import { mayCall, type Caller, type Operation } from '../model/access';
import { body, client, limitTo } from './client';
import roles from './roles.json';

export const callerQuery = () =>
  queryOptions({
    queryKey: ['whoami'],
    queryFn: async () => {
      const caller = await body(client.GET('/v1/whoami'));
      limitTo((operation) => mayCall(roles, caller.role, operation)); // before any other query is made
      return caller;
    },
    staleTime: 5 * 60_000,
  });

export function useCaller(): Caller | undefined {
  return useQuery(callerQuery()).data;
}

export function useMay(): (operation: Operation) => boolean {
  const caller = useCaller();
  return (operation) => mayCall(roles, caller?.role, operation);
}
