import './no-async-hooks.ts'
import { appendFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { closeAll } from './process-end.ts'
import { type Order, take } from './turns.ts'
import { type Usage, usageLine, usedByNow } from './usage.ts'

/**
 * Runs compiled test files one after another in one process: `worker.js NAME`, with the rest in `TEST_ORDER`.
 *
 * Each is a subtest, and for as long as it runs the `t` it imports stands for that subtest: what it tears down is gone
 * before the next begins, as if each had a process of its own. What differs is the cost of starting one and of loading
 * the product, which is more than that of most files.
 */

/** What a file may ask of its own `t`; all else it asks of the `t` of a subtest. */
const own = [
  'test',
  'teardown',
  'before',
  'beforeEach',
  'afterEach',
  'comment',
  'setTimeout',
] as const

function standFor(test: Test): void {
  for (const name of own)
    Object.defineProperty(t, name, { configurable: true, value: test[name].bind(test) })
}

// Not as arguments: tap names directories after those.
const order = JSON.parse(process.env['TEST_ORDER'] ?? '') as Order

/** Modules are never let go of, nor what a file keeps in them: past this another process goes on. */
const MOST_RSS_BYTES = 1.2 * 1024 ** 3
/** What the files leave behind must not hold the process longer than this: each has had its own end. */
const LINGER_MS = 2_000

function next(): number | undefined {
  if (process.memoryUsage.rss() > MOST_RSS_BYTES) return undefined
  return take(order.taken, order.paths.length)
}

// Each file has a bound of its own.
t.setTimeout(0)
const run = t.test.bind(t)
for (let turn: number | undefined = order.first; turn !== undefined; turn = next()) {
  const path = order.paths[turn] ?? ''
  const before = usedByNow()
  await run(path, { timeout: order.timeoutMs }, async (test) => {
    standFor(test)
    await import(pathToFileURL(resolve(path)).href)
  })
  const after = usedByNow()
  const used: Usage = {
    path,
    process: process.pid,
    wallMs: after.wallMs - before.wallMs,
    cpuMs: after.cpuMs - before.cpuMs,
  }
  appendFileSync(order.usageFile, `${JSON.stringify(used)}\n`)
  // What a process reports is shown when it ends: this says meanwhile how far the run is.
  process.stderr.write(`${usageLine([used], path)}\n`)
}
await closeAll()
t.end()
setTimeout(() => {
  process.stderr.write(`still held by ${process.getActiveResourcesInfo().join(', ')}\n`)
  process.exit()
}, LINGER_MS).unref()
