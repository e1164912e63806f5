import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { checkout } from '../../helpers/checkout.ts'
import { eventually } from '../../helpers/eventually.ts'
import { lastingPort } from '../../helpers/lasting-port.ts'
import { prometheus as installed } from '../../helpers/requirements.ts'

/** A real Prometheus with the configuration and the alarms of `infra/watch`, which looks every second. */

interface Rule {
  readonly name: string
  readonly type: 'alerting' | 'recording'
  readonly health: string
  readonly lastError?: string
}

interface Alarm {
  readonly labels: Readonly<Record<string, string>>
  readonly state: 'pending' | 'firing'
}

export interface Prometheus {
  /** The series of an expression now. @throws where it is not one */
  readonly query: (
    expr: string,
  ) => Promise<readonly { readonly metric: Readonly<Record<string, string>> }[]>
  readonly rules: () => Promise<readonly Rule[]>
  /** The alarms that are pending or fire. */
  readonly alarms: () => Promise<readonly Alarm[]>
  readonly stop: () => Promise<void>
}

const example = new URL('infra/watch/prometheus.example.yaml', checkout)

/** Starts it in a folder, for the process with this operations port. */
export async function startPrometheus(folder: string, operationsPort: number): Promise<Prometheus> {
  const port = await lastingPort()
  const configuration = parse(
    readFileSync(example, 'utf8').replaceAll('15s', '1s').replace(':9464', `:${operationsPort}`),
  ) as { readonly rule_files: readonly string[] }
  const rule_files = configuration.rule_files.map((name) => fileURLToPath(new URL(name, example)))
  await writeFile(join(folder, 'prometheus.yaml'), JSON.stringify({ ...configuration, rule_files }))
  const child: ChildProcess = spawn(
    installed.path(),
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'series')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  child.stderr?.pipe(createWriteStream(join(folder, 'prometheus.log')))
  const end = (): void => void child.kill('SIGKILL')
  process.on('exit', end)
  const ask = async <Data>(path: string): Promise<Data> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)
    const { data, error } = (await response.json()) as { data: Data; error?: string }
    if (error !== undefined) throw new Error(error)
    return data
  }
  const prometheus: Prometheus = {
    query: async (query) =>
      (await ask<{ result: [] }>(`query?${new URLSearchParams({ query }).toString()}`)).result,
    rules: async () => {
      const { groups } = await ask<{ groups: readonly { rules: readonly Rule[] }[] }>('rules')
      return groups.flatMap(({ rules }) => rules)
    },
    alarms: async () => (await ask<{ alerts: readonly Alarm[] }>('alerts')).alerts,
    stop: async () => {
      process.off('exit', end)
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
  await eventually(
    'Prometheus scrapes the gateway',
    async () => {
      if (child.exitCode !== null)
        throw new Error(readFileSync(join(folder, 'prometheus.log'), 'utf8'))
      return (await prometheus.query('up == 1').catch(() => [])).length > 0
    },
    120_000,
  )
  return prometheus
}
