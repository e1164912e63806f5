import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import t from 'tap'
import { checkout } from '../helpers/checkout.ts'
import { startStack } from '../helpers/stack.ts'
import { call, tasksOf } from '../e2e/support/client.ts'

/**
 * In how many source files a function runs during one call and one task, gateway and projector together, and that
 * `docs/architecture.md` names only files that take part. The more files, the longer a reader's way.
 */

const CHAT_FILES = 127
const VIDEO_FILES = 149
const IDLE_MS = 1_000
/** So many intervals in which nothing new ran by itself, one after the other, had a round of all that does. */
const QUIET_INTERVALS = 3
/** A round is over sooner than that, on any machine. */
const MOST_INTERVALS = 60
const TURNS = 8

const page = readFileSync(new URL('docs/architecture.md', checkout), 'utf8')

/** The files that a section of the page names. */
function namedIn(heading: string): readonly string[] {
  const [, rest = ''] = page.split(`\n## ${heading}\n`)
  const [section = ''] = rest.split('\n## ')
  return [...section.matchAll(/`((?:src|projections)\/[\w/.-]+\.ts)`/g)].map(
    ([, path = '']) => path,
  )
}

const session = new Session()
session.connect()

/** The source files in which a function has run since this was asked last. */
async function executed(): Promise<ReadonlySet<string>> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const files = new Set<string>()
  for (const { url, functions } of result) {
    const [, path] = /\/((?:src|projections)\/[\w/.-]+)\.[jt]s$/.exec(url) ?? []
    if (path === undefined || url.includes('/node_modules/')) continue
    // The module itself begins at 0 and has no name; it runs when it is loaded.
    const hasRun = functions.some(({ functionName, ranges: [whole] }) => {
      const isModule = functionName === '' && whole?.startOffset === 0
      return !isModule && whole !== undefined && whole.count > 0
    })
    if (hasRun) files.add(`${path}.ts`)
  }
  return files
}

/** Adds what runs by itself in an interval in which nothing is asked; whether any of it is new. */
async function addIdle(idle: Set<string>): Promise<boolean> {
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
  const before = idle.size
  for (const path of await executed()) idle.add(path)
  return idle.size > before
}

/** All that runs by itself: on a busy machine a round of it takes longer than any fixed time. */
async function runsByItself(): Promise<Set<string>> {
  const idle = new Set<string>()
  let quiet = 0
  for (let count = 0; quiet < QUIET_INTERVALS && count < MOST_INTERVALS; count += 1)
    quiet = (await addIdle(idle)) ? 0 : quiet + 1
  return idle
}

t.test('one call and one task execute few files, which the page names', async (t) => {
  const stack = await startStack()
  t.teardown(() => stack.stop())
  const tasks = tasksOf(stack.url, stack.demo.modelToken)
  const chat = async (): Promise<void> => {
    const answer = await call(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      token: stack.demo.modelToken,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'hello' }] }),
    })
    t.equal(answer.status, 200)
    await stack.caughtUp()
  }
  const video = async (): Promise<void> => {
    await tasks.reaches(await tasks.created(), 'succeeded')
    await stack.caughtUp()
  }
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  t.teardown(async () => {
    await session.post('Profiler.stopPreciseCoverage')
    session.disconnect()
  })
  // What happens once in a process is no part of a call.
  await chat()
  await video()
  await executed()
  const idle = await runsByItself()
  for (const [heading, run, most] of [
    ['Life of a call', chat, CHAT_FILES],
    ['Life of a task', video, VIDEO_FILES],
  ] as const) {
    const named = namedIn(heading)
    t.ok(named.length > 15, `${heading}: ${named.length} files are named`)
    await run()
    const during = await executed()
    t.same(
      named.filter((path) => !during.has(path)),
      [],
      `${heading}: every file that is named takes part`,
    )
    const countedOf = (files: ReadonlySet<string>) =>
      [...files].filter((path) => !idle.has(path) || named.includes(path))
    let counted = countedOf(during)
    // What runs by itself falls into a turn, and not into each, or it is seen when nothing is asked.
    for (let turn = 1; turn < TURNS && counted.length > most; turn += 1) {
      await addIdle(idle)
      await run()
      const again = await executed()
      counted = countedOf(new Set(counted.filter((path) => again.has(path))))
    }
    t.comment(`${heading}: ${counted.length} files`)
    t.ok(counted.length <= most, `${heading}: ${counted.length} files, at most ${most}`)
  }
})
