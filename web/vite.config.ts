import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// `npm run dev` serves the sources and passes the API on to a railweaved (RAILWEAVE_URL, default 127.0.0.1:7470).
const service = process.env.RAILWEAVE_URL ?? 'http://127.0.0.1:7470';

export default defineConfig({
  base: '/console/',
  plugins: [react()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0, // the Content-Security-Policy allows no data: scripts or styles
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
  },
  server: { proxy: { '/v1': service, '/readyz': service, '/healthz': service, '/openapi.yaml': service } },
  test: { include: ['src/**/*.test.ts'], environment: 'node', testTimeout: 60_000 }, // machines are shared
});
