// A view whose code is loaded when it is first opened. Where the service is away, the frame stays, says so, and the view
// comes by itself once the service is back: the page is never left to the browser's own error page.
import { useEffect, useState, type ComponentType, type ReactNode } from 'react';
import { Empty, Loading } from '../parts/basics';

type Module = Record<string, unknown>;
export type Load = () => Promise<Module>;
const AGAIN_MS = 2000;

// One attempt at a time, and none after one that went well.
function once(load: Load): { loaded: () => Module | undefined; attempt: () => Promise<Module> } {
  let module: Module | undefined;
  let pending: Promise<Module> | undefined;
  const attempt = () =>
    (pending ??= load().then(
      (found) => (module = found),
      (error: unknown) => {
        pending = undefined;
        throw error;
      },
    ));
  return { loaded: () => module, attempt };
}

// The service answers, but not with this file: the console was built again since this page was opened.
const isOutdated = () => fetch('/readyz', { cache: 'no-store' }).then((response) => response.headers.get('Content-Type')?.includes('json') ?? false, () => false);

function Waiting({ outdated }: { outdated: boolean }) {
  return (
    <div role="alert">
      {outdated ? (
        <Empty title="The console was updated">
          <button type="button" className="link-button" onClick={() => window.location.reload()}>Load the new one</button>
        </Empty>
      ) : (
        <Empty title="The service does not answer"><p>This view opens by itself as soon as it does. What was opened before stays readable.</p></Empty>
      )}
    </div>
  );
}

export function lateView(load: Load): (name: string) => (() => ReactNode) & { preload: () => Promise<void> } {
  const code = once(load);
  return (name) => {
    const View = () => {
      const [module, setModule] = useState(code.loaded);
      const [failed, setFailed] = useState<'away' | 'outdated' | undefined>();
      useEffect(() => {
        if (module) return;
        let left = false;
        let timer: ReturnType<typeof setTimeout> | undefined;
        const attempt = () =>
          void code.attempt().then(
            (found) => !left && setModule(() => found),
            async () => {
              const outdated = await isOutdated();
              if (left) return;
              setFailed(outdated ? 'outdated' : 'away');
              timer = setTimeout(attempt, AGAIN_MS);
            },
          );
        attempt();
        return () => {
          left = true;
          clearTimeout(timer);
        };
      }, [module]);
      if (module) {
        const Component = module[name] as ComponentType;
        return <Component />;
      }
      return failed ? <Waiting outdated={failed === 'outdated'} /> : <Loading />;
    };
    return Object.assign(View, { preload: () => code.attempt().then(() => undefined, () => undefined) });
  };
}
