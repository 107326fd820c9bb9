// A simulated InfiniBand subnet whose cables can be cut.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';

export function preload(): string | undefined {
  const folders = existsSync('/usr/lib') ? readdirSync('/usr/lib') : [];
  return folders.map((folder) => `/usr/lib/${folder}/umad2sim/libumad2sim.so`).find((path) => existsSync(path));
}

export class Ibsim {
  readonly name = `railweave-${randomUUID().slice(0, 12)}`;
  private process: ChildProcess | undefined;
  private said = '';

  constructor(
    readonly netlist: string,
    readonly folder: string,
  ) {}

  get host(): string {
    return /^(?:Ca|Hca)\s+\d+\s+"([^"]+)"[^\n]*\n\s*\[/m.exec(readFileSync(this.netlist, 'utf8'))![1]!;
  }

  async start() {
    const devices = [...readFileSync(this.netlist, 'utf8').matchAll(/^(Switch|Ca|Hca|Rt)\s+(\d+)\s+"/gm)];
    const switches = devices.filter((device) => device[1] === 'Switch').length;
    const ports = devices.reduce((sum, device) => sum + Number(device[2]) + 1, 0);
    // Under timeout, which ends it should the run be killed.
    const started = spawn('timeout', ['-k', '2', '170', 'ibsim', '-s', '-N', String(devices.length + 16), '-S', String(switches + 16), '-P', String(ports + 64), this.netlist], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, IBSIM_SOCKNAME: this.name },
      cwd: this.folder,
    });
    this.process = started;
    await new Promise<void>((done, fail) => {
      const hear = (text: Buffer) => {
        this.said = (this.said + text.toString()).slice(-20_000);
        if (this.said.includes('sim>')) done();
      };
      started.stdout!.on('data', hear);
      started.stderr!.on('data', hear);
      started.on('exit', () => fail(new Error(`ibsim ended: ${this.said}`)));
    });
  }

  console(command: string) {
    this.process!.stdin!.write(`${command}\n`);
  }

  async stop() {
    const ended = this.process;
    if (!ended || ended.exitCode !== null) return;
    await new Promise<void>((done) => {
      ended.on('exit', () => done());
      ended.kill('SIGTERM');
    });
  }
}
