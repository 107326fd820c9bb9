// What is offered only to those whose role may do it.
import type { ReactNode } from 'react';
import { useMay } from '../api/caller';
import type { Operation } from '../model/session/access';

export function May({ call, children }: { call: Operation; children: ReactNode }) {
  return useMay()(call) ? children : null;
}
