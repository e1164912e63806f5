import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { ANSWERED } from '../../src/api/kit/routes/log-lines.ts'
import { createProcessLog } from '../../src/cli/log-output.ts'
import { owned } from '../../src/platform/owned.ts'
import { nodeArguments } from '../helpers/checkout.ts'
import { until } from '../helpers/eventually.ts'
import { FLOOD_LINES } from './log-output-flood-child.ts'

const folder = t.testdir()

function logTo(name: string) {
  const file = join(folder, name)
  const { logger, flush } = createProcessLog('info', openSync(file, 'w'))
  const written = (): readonly Record<string, unknown>[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      // What follows the last line end is written only in part.
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  const lines = async (count: number) => {
    await until(() => written().length >= count)
    return written()
  }
  return { logger, flush, written, lines }
}

t.test('request lines are buffered, and written before the next immediate line', async (t) => {
  const { logger, written, lines } = logTo('order')
  logger.warn({ n: 0 }, 'before')
  await lines(1)
  logger.info({ n: 1 }, ANSWERED)
  logger.info({ n: 2 }, ANSWERED)
  await setImmediate()
  t.equal(written().length, 1)
  logger.error({ n: 3 }, 'the provider does not answer')
  t.same(
    (await lines(4)).map(({ n }) => n),
    [0, 1, 2, 3],
  )
})

t.test('request lines are written when many, after a second, or on flush', async (t) => {
  const { logger, flush, lines } = logTo('many')
  logger.info({ text: 'a'.repeat(3_000) }, ANSWERED)
  logger.info({ text: 'a'.repeat(3_000) }, ANSWERED)
  t.equal((await lines(2)).length, 2)
  logger.info({}, ANSWERED)
  t.equal((await lines(3)).length, 3)
  logger.info({}, ANSWERED)
  flush()
  t.equal((await lines(4)).length, 4)
})

t.test('a disk that was full for long is written to again', async (t) => {
  const { logger, lines } = logTo('full')
  const { write } = fs
  t.teardown(() => Object.assign(fs, { write }))
  const refuse = (...args: readonly unknown[]): void => {
    const done = args.at(-1) as (error: Error) => void
    process.nextTick(done, Object.assign(new Error('no space left'), { code: 'ENOSPC' }))
  }
  Object.assign(fs, { write: refuse })
  for (let n = 0; n < 50; n += 1) {
    logger.error({ n, text: 'a'.repeat(100_000) }, 'large')
    await setImmediate()
  }
  Object.assign(fs, { write })
  logger.info({}, ANSWERED)
  await until(() =>
    readFileSync(join(folder, 'full'), 'utf8').includes('lines of the log were lost'),
  )
  const written = await lines(1)
  const lost = written.find(({ msg }) => String(msg).startsWith('lines of the log were lost'))
  t.equal(written.filter(({ msg }) => msg === 'large').length + Number(lost?.['lines']), 51)
})

t.test('secrets are redacted', async (t) => {
  const { logger, flush, lines } = logTo('secrets')
  logger.warn({ headers: { authorization: 'Bearer x' } }, 'headers')
  logger.info({ req: { url: '/x?token=x' } }, 'url')
  flush()
  const written = JSON.stringify(await lines(2))
  t.match(written, /redacted.*redacted/)
  t.notMatch(written, /Bearer|token=/)
})

t.test('a process that ends by itself loses no log line', (t) => {
  const program = new URL('log-output-child.ts', import.meta.url)
  const output = execFileSync(process.execPath, [...nodeArguments(program)])
  t.match(JSON.parse(output.toString()), { n: 1, msg: ANSWERED })
  t.end()
})

t.test(
  'a reader that is too slow costs request lines, which are counted, and no memory',
  async (t) => {
    const program = new URL('log-output-flood-child.ts', import.meta.url)
    const child = owned(spawn(process.execPath, [...nodeArguments(program)], { stdio: 'pipe' }))
    // Until then nothing reads the log.
    const [said] = (await once(owned(child.stderr), 'data')) as [Buffer]
    const written = (await text(child.stdout)).trimEnd().split('\n')
    const lines = written.map((line) => JSON.parse(line) as Record<string, unknown>)
    const requests = lines.filter(({ msg }) => msg === ANSWERED)
    const lost = lines.filter(({ msg }) => String(msg).startsWith('lines of the log were lost'))
    t.equal(lost.length, 1)
    t.equal(requests.length + Number(lost[0]?.['lines']), FLOOD_LINES)
    t.equal(said.toString(), `lost ${Number(lost[0]?.['lines'])}`, 'as the metric says')
    t.ok(requests.length < FLOOD_LINES / 2, 'most are lost')
    t.equal(lines.filter(({ msg }) => msg === 'the disk is full').length, 1)
  },
)
