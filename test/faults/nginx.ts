import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bare, bareEnvironment } from '../helpers/child.ts'
import { eventually } from '../helpers/eventually.ts'
import { findInstalled } from '../helpers/child.ts'

/** nginx as the operating system brings it, in front of replicas. */

/** Where the program is; undefined where there is none, as `findInstalled` says it. */
export function findNginx(): string | undefined {
  return findInstalled(['nginx'], 'nginx-light')
}

export interface Nginx {
  /** What it complained of so far. */
  readonly complaints: () => Promise<string>
  readonly stop: () => Promise<void>
}

/** Runs it with what an operator would include in its `http` block. */
export async function startNginx(options: {
  readonly program: string
  readonly directory: string
  readonly included: string
  /** An address it then listens on. */
  readonly url: string
}): Promise<Nginx> {
  const { program, directory, included, url } = options
  await mkdir(directory, { recursive: true })
  const at = (name: string): string => join(directory, name)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${at(name)};`,
  )
  const main = [
    // Its workers would otherwise be another account, which may not enter this folder.
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'daemon off;',
    'worker_processes 1;',
    `pid ${at('nginx.pid')};`,
    'events { worker_connections 256; }',
    `http { access_log off; ${temporary.join(' ')} include ${at('included.conf')}; }`,
  ]
  await writeFile(at('included.conf'), included)
  await writeFile(at('nginx.conf'), main.join('\n'))
  const log = at('error.log')
  const child: ChildProcess = spawn(
    ...bare(program, ['-p', directory, '-c', at('nginx.conf'), '-e', log]),
    { stdio: 'ignore', env: bareEnvironment() },
  )
  const complaints = (): Promise<string> => readFile(log, 'utf8').catch(() => '')
  const ended = once(child, 'exit')
  await eventually('nginx listens', async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${await complaints()}`)
    return fetch(url).then(
      async (response) => response.arrayBuffer().then(() => true),
      () => undefined,
    )
  })
  return {
    complaints,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}
