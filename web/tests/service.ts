// A real railweaved on a free loopback port with a generated fabric, tenants, contracts and jobs.
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { temporaryFolder } from './temporary_folder';

const bin = resolve(process.env.RAILWEAVE_BIN ?? '../build/release/bin');
const dist = resolve(import.meta.dirname, '../dist');

const inHours = (hours: number) => `${new Date(Date.now() + hours * 3_600_000).toISOString().slice(0, 19)}Z`;

export class Service {
  url = '';
  readonly folder = temporaryFolder('railweave-console-');
  private process: ChildProcess | undefined;
  private port = 0;
  authentication = 'none';
  config = ''; // lines of its configuration
  store = join(this.folder, 'store.db'); // or a PostgreSQL database that several share
  replica: string | undefined; // its name among them

  // On a simulated subnet: railweaved's connection to it is configured as `compute`.
  async start(simulated?: { name: string; host: string; preload: string; counterSeconds?: number }): Promise<this> {
    const args = ['--authentication', this.authentication, '--listen', `127.0.0.1:${this.port}`, '--store', this.store, '--console', dist, ...(this.replica ? ['--replica-name', this.replica] : [])];
    let command = join(bin, 'railweaved');
    let env = process.env;
    const file = join(this.folder, 'railweaved.toml');
    const subnet = '[[subnet]]\nname = "compute"\nsweep_seconds = 1\ncounter_seconds = ' + String(simulated?.counterSeconds ?? 1) + '\n';
    if (simulated || this.config) {
      writeFileSync(file, this.config + (simulated ? subnet : ''));
      args.unshift('--config', file);
    }
    if (simulated) {
      args.unshift('-k', '2', '170', 'env', `LD_PRELOAD=${simulated.preload}`, command);
      command = 'timeout'; // clients of the simulator may hang when they end
      env = { ...process.env, IBSIM_SOCKNAME: simulated.name, SIM_HOST: simulated.host };
    }
    const process_ = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env, cwd: this.folder });
    this.process = process_;
    let errors = '';
    process_.stderr!.on('data', (text: Buffer) => (errors = (errors + text.toString()).slice(-4000)));
    this.url = await new Promise<string>((done, fail) => {
      let output = '';
      process_.stdout!.on('data', (text: Buffer) => {
        output += text.toString();
        const found = /listens at (\S+)/.exec(output);
        if (found) done(found[1]!);
      });
      process_.on('exit', (code) => fail(new Error(`railweaved ended with ${code}: ${errors}`)));
    });
    this.port = Number(new URL(this.url).port); // the same after a restart
    return this;
  }

  // SIGTERM, and wait; the store stays.
  async stop() {
    const ended = this.process;
    if (!ended || ended.exitCode !== null || ended.signalCode !== null) return;
    await new Promise<void>((done) => {
      ended.removeAllListeners('exit');
      ended.on('exit', () => done());
      ended.kill('SIGTERM');
    });
  }

  // SIGKILL: nothing is given back.
  async kill() {
    const ended = this.process!;
    await new Promise<void>((done) => {
      ended.removeAllListeners('exit');
      ended.on('exit', () => done());
      ended.kill('SIGKILL');
    });
  }

  // A command of the CLI against this service; its output.
  cli(...args: string[]): string {
    return execFileSync(join(bin, 'railweave'), args, { cwd: this.folder, env: { ...process.env, RAILWEAVE_URL: this.url, ...this.token() }, encoding: 'utf8', timeout: 60_000, maxBuffer: 1 << 29 });
  }
  // The same of a command that may end with a finding: its exit code too.
  said(...args: string[]): { code: number; output: string } {
    const done = spawnSync(join(bin, 'railweave'), args, { cwd: this.folder, env: { ...process.env, RAILWEAVE_URL: this.url, ...this.token() }, encoding: 'utf8', timeout: 60_000, maxBuffer: 1 << 29 });
    return { code: done.status ?? -1, output: done.stdout };
  }
  // The administrator's, where it asks for tokens.
  private token(): Record<string, string> {
    return this.authentication === 'tokens' ? { RAILWEAVE_TOKEN: readFileSync(`${this.store}.admin-token`, 'utf8').trim() } : {};
  }
  issue(name: string, role: string, ...more: string[]): string {
    return this.json<{ token: string }>('tokens', 'issue', name, '--role', role, ...more).token;
  }
  json<T>(...args: string[]): T {
    return JSON.parse(this.cli(...args, '-o', 'json')) as T;
  }

  // 16 hosts of 8 GPUs on 4 rails in 4 racks and 2 leaf groups: 96 cables.
  generate(name: string, ...args: string[]): string {
    const file = join(this.folder, name);
    this.cli('lab', 'generate', 'rail-optimized', '--hosts', '16', '--rails', '4', '--radix', '32', '--down-ports', '8', '--uplinks', '4', '--spines', '4', '--hosts-per-rack', '4', '--hosts-per-unit', '8', '--speed', 'HDR', ...args, '-O', file);
    return file;
  }
  importFabric() {
    this.generate('fabric.json');
    this.cli('fabric', 'import', 'fabric.json');
  }

  seed() {
    this.importFabric();
    this.cli('tenants', 'set', 'research', '--max-gpus', '96');
    this.cli('tenants', 'set', 'product', '--max-gpus', '64');
    this.cli('contracts', 'set', 'product', '--guaranteed', '20', '--class', 'all-reduce');
    const submit = (...args: string[]) => this.cli('jobs', 'submit', ...args);
    submit('--tenant', 'research', '--name', 'llama-70b', '--tp', '8', '--pp', '2', '--dp', '2');
    submit('--tenant', 'research', '--name', 'ablation', '--tp', '4', '--dp', '3');
    submit('--tenant', 'product', '--name', 'serving', '--tp', '8', '--dp', '4');
    submit('--tenant', 'research', '--name', 'greedy', '--tp', '8', '--dp', '8', '--queue');
    submit('--tenant', 'product', '--name', 'retrain', '--tp', '8', '--dp', '6', '--queue');
    const nodes = this.json<{ items: { id: string }[] }>('nodes', 'list').items.map((node) => node.id);
    this.cli('nodes', 'drain', nodes.at(-1)!, '--reason', 'replace its power supply');
    this.cli('reservations', 'set', 'firmware', '--node', nodes[4]!, '--from', inHours(6), '--to', inHours(18), '--reason', 'new firmware');
  }
}
