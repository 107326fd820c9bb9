import { beforeAll, expect, it, vi } from 'vitest';

const kept = new Map<string, string>();
let client: typeof import('./client');
beforeAll(async () => {
  vi.stubGlobal('window', { location: { origin: 'http://localhost' } });
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
  client = await import('./client');
});

// An answer whose body comes when it is let.
function slowRefusal(): { response: Response; arrive: () => void } {
  let arrive = () => {};
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      arrive = () => {
        controller.enqueue(new TextEncoder().encode('{"code":"auth.invalid"}'));
        controller.close();
      };
    },
  });
  return { response: new Response(stream, { status: 401 }), arrive };
}

it('refuses the token that the request showed', async () => {
  client.signIn.use('old');
  const { response, arrive } = slowRefusal();
  const noted = client.noteRefusal(response, 'Bearer old');
  arrive();
  await noted;
  expect(client.signIn.refused()).toEqual({ code: 'auth.invalid' });
});

it('says nothing of a token that was taken while the refusal was read', async () => {
  client.signIn.use('old');
  const { response, arrive } = slowRefusal();
  const noted = client.noteRefusal(response, 'Bearer old');
  client.signIn.use('new');
  arrive();
  await noted;
  expect(client.signIn.refused()).toBeNull();
});
