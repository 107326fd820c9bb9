import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './app/styles.css';
import { createTheme, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { askOtherTabs, ProblemError } from './api/client';
import { liveConnection } from './api/events';
import { loadAhead, router } from './app/router';
import { finish, goOn, isToBegin, RETURN_PATH } from './api/oidc';
import { SignIn } from './app/sign_in';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000, // events say what changed; this is for what has none
      retry: (failures, error) => failures < 3 && !(error instanceof ProblemError && error.status < 429),
      refetchOnWindowFocus: true,
    },
  },
});
const theme = createTheme({
  cursorType: 'pointer',
  defaultRadius: 'sm',
  components: { Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } }, ...Object.fromEntries(['TextInput', 'Select', 'Textarea', 'Checkbox', 'Button', 'NativeSelect'].map((name) => [name, { defaultProps: { size: 'xs' } }])) },
});

const AHEAD_MS = 500; // after the first view has what it needs
const root = createRoot(document.getElementById('root')!);
const show = (refusal?: string) => root.render(
  <StrictMode>
    {/* The Content-Security-Policy allows no <style> elements: every variable is in styles.css. */}
    <MantineProvider theme={theme} defaultColorScheme="auto" withCssVariables={false} withStaticClasses={false} withGlobalClasses={false}>
      <QueryClientProvider client={queries}>
        <Notifications position="bottom-right" />
        <SignIn refusal={refusal}>
          <RouterProvider router={router} />
        </SignIn>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);

// Back from the identity provider: its answer is taken before anything is shown.
async function start() {
  let refusal: string | undefined;
  const refuse = (error: unknown) => {
    refusal = `The identity provider did not sign you in: ${error instanceof Error ? error.message : String(error)}`;
    return false;
  };
  if (isToBegin()) {
    await goOn().catch(refuse);
    if (refusal === undefined) return; // on its way
  } else if (window.location.pathname === RETURN_PATH && (await finish().catch(refuse))) {
    window.close();
    root.render(<p>You are signed in. This window can be closed.</p>); // where a script may not close it
    return;
  }
  await askOtherTabs();
  liveConnection.start(queries);
  show(refusal);
  setTimeout(loadAhead, AHEAD_MS);
}
void start();
