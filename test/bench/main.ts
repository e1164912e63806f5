import { mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { reached, type Benchmark, type Figure } from './figure.ts'
import { measuredNode, runAgainOn } from './kit/measured-node.ts'
import { isQuick } from './kit/sizes.ts'

/**
 * `npm run bench [-- name …]`: runs the named benchmarks (all of them by default) one after the
 * other, prints a table and writes `test/bench/results/<time>.json`. Exit code 0 even where a figure
 * falls short: a benchmark measures, it does not judge; 1 when one could not be run.
 */
const benchmarks: Readonly<Record<string, () => Promise<{ readonly run: Benchmark }>>> = {
  eventstore: () => import('./eventstore.ts'),
  projections: () => import('./projections.ts'),
  audit: () => import('./audit.ts'),
  'audit-tasks': () => import('./audit-tasks.ts'),
  'audit-load': () => import('./audit-load.ts'),
  'task-list': () => import('./task-list.ts'),
  create: () => import('./create.ts'),
  'in-flight': () => import('./in-flight.ts'),
  chat: () => import('./chat.ts'),
  latency: () => import('./latency.ts'),
  rows: () => import('./rows.ts'),
  'hot-path': () => import('./hot-path.ts'),
  idle: () => import('./idle.ts'),
  tenants: () => import('./tenants.ts'),
  memory: () => import('./memory.ts'),
  streams: () => import('./streams.ts'),
  messages: () => import('./messages.ts'),
  bodies: () => import('./bodies.ts'),
  'body-values': () => import('./body-values.ts'),
  images: () => import('./images.ts'),
  speech: () => import('./speech.ts'),
  'slow-readers': () => import('./slow-readers.ts'),
  'image-queue': () => import('./image-queue.ts'),
  objects: () => import('./objects.ts'),
  'asset-watch': () => import('./asset-watch.ts'),
  'asset-list': () => import('./asset-list.ts'),
  accounts: () => import('./accounts.ts'),
  explain: () => import('./explain.ts'),
  export: () => import('./export.ts'),
  verify: () => import('./verify.ts'),
  close: () => import('./close.ts'),
  'close-load': () => import('./close-load.ts'),
  board: () => import('./board.ts'),
  paper: () => import('./paper.ts'),
  support: () => import('./support.ts'),
  console: () => import('./console.ts'),
}

const results = fileURLToPath(new URL('./results/', import.meta.url))

function show(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    `${figure.value.toLocaleString('en', { maximumFractionDigits: 2 })} ${figure.unit}`,
    figure.reach === undefined ? '' : `${figure.bound === 'most' ? '≤' : '≥'} ${figure.reach}`,
    { true: 'yes', false: 'NO', undefined: '' }[String(reached(figure))] ?? '',
    figure.cpuMs?.toFixed(3) ?? '',
    figure.cpuOverBare === undefined ? '' : `${figure.cpuOverBare.toFixed(1)} ×`,
    figure.note ?? '',
  ])
  return rows.map((row) => `| ${row.join(' | ')} |`).join('\n')
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in benchmarks))
if (unknown.length > 0) {
  process.stderr.write(
    `no benchmark ${unknown.join(', ')}; there are ${Object.keys(benchmarks).join(', ')}\n`,
  )
  process.exit(2)
}
try {
  const { platform, arch } = process
  const binary = measuredNode({ version: process.versions.node, platform, arch })
  if (binary !== undefined) process.exit(await runAgainOn(binary, wanted))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
const all: Record<string, readonly Figure[]> = {}
process.stdout.write(
  `| what | figure | reach | reached | CPU ms a call | over bare's | note |\n|-|-|-|-|-|-|-|\n`,
)
for (const [name, load] of Object.entries(benchmarks)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  process.stderr.write(`${name} …\n`)
  try {
    const { run } = await load()
    const figures = await run()
    all[name] = figures
    process.stdout.write(`${show(figures)}\n`)
  } catch (error) {
    // The others' figures stand all the same.
    process.exitCode = 1
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.stderr.write(`${name} could not be measured: ${reason}\n`)
  }
}
await mkdir(results, { recursive: true })
const at = new Date().toISOString()
const machine = {
  quick: isQuick,
  node: process.version,
  cpus: cpus().length,
  model: cpus()[0]?.model,
}
await writeFile(
  `${results}${at.replaceAll(':', '-')}.json`,
  `${JSON.stringify({ at, machine, figures: all }, undefined, 2)}\n`,
)
process.exit()
