import { randomUUID } from 'node:crypto'
import { ErrorType, WrongExpectedVersionError } from '@eventstore/db-client'
import t from 'tap'
import { APPEND_PATHS, collect, onEveryServer, numbersIn, several, refused } from './setup.ts'

await onEveryServer(t, async (t, log) => {
  /** Errors that leave the outcome open; the real server may answer a very early retry so. */
  const UNKNOWN_OUTCOME: ReadonlySet<string> = new Set([
    ErrorType.TIMEOUT,
    ErrorType.DEADLINE_EXCEEDED,
  ])

  for (const path of APPEND_PATHS) {
    t.test(`${path}: a repeated append at no_stream succeeds and is stored once`, async (t) => {
      const stream = log.stream()
      const events = several(3)
      const first = await log.append(path, stream, events, 'no_stream')
      const again = await log.append(path, stream, events, 'no_stream')
      t.equal(again.success, true)
      t.equal(again.nextExpectedRevision, first.nextExpectedRevision)
      t.same(await numbersIn(log.client, stream), [0, 1, 2])
    })

    t.test(`${path}: a repeated append at an exact revision succeeds, however old`, async (t) => {
      const stream = log.stream()
      await log.append(path, stream, several(2), 'no_stream')
      const retried = several(2, 2)
      await log.append(path, stream, retried, 1n)
      for (let n = 4; n < 40; n += 4) await log.append(path, stream, several(4, n), 'any')
      const again = await log.append(path, stream, retried, 1n)
      t.equal(again.nextExpectedRevision, 3n, 'the answer is that of the first time')
      t.equal((await numbersIn(log.client, stream)).length, 40)
    })

    t.test(`${path}: the first events of an earlier append count as that append`, async (t) => {
      const stream = log.stream()
      const events = several(3)
      await log.append(path, stream, events, 'no_stream')
      const again = await log.append(path, stream, events.slice(0, 2), 'no_stream')
      t.equal(again.nextExpectedRevision, 1n)
      t.same(await numbersIn(log.client, stream), [0, 1, 2])
    })

    for (const revision of ['no_stream', 'exact', 'any', 'stream_exists'] as const) {
      t.test(
        `${path}: an append that only partly repeats another is refused (${revision})`,
        async (t) => {
          const stream = log.stream()
          await log.append(path, stream, several(1, 100), 'no_stream')
          const events = several(2)
          if (revision === 'no_stream') {
            const other = log.stream()
            await log.append(path, other, events, 'no_stream')
            const longer = [...events, ...several(1, 2)]
            await refused(
              t,
              log.append(path, other, longer, 'no_stream'),
              WrongExpectedVersionError,
            )
            await refused(
              t,
              log.append(path, other, events.slice(1), 'no_stream'),
              WrongExpectedVersionError,
            )
            t.same(await numbersIn(log.client, other), [0, 1])
            return
          }
          await log.append(path, stream, events, 0n)
          const longer = [...events, ...several(1, 2)]
          const expected = revision === 'exact' ? 0n : revision
          await refused(t, log.append(path, stream, longer, expected), WrongExpectedVersionError)
          t.same(await numbersIn(log.client, stream), [100, 0, 1])
        },
      )
    }

    for (const revision of ['any', 'stream_exists'] as const) {
      t.test(
        `${path}: a recent append at ${revision} succeeds again and is stored once`,
        async (t) => {
          const stream = log.stream()
          await log.append(path, stream, several(1, 100), 'no_stream')
          const events = several(2)
          const first = await log.append(path, stream, events, revision)
          const again = await log.append(path, stream, events, revision)
          t.equal(again.nextExpectedRevision, first.nextExpectedRevision)
          t.same(await numbersIn(log.client, stream), [100, 0, 1])
        },
      )
    }

    t.test(`${path}: at the current revision ids are not compared`, async (t) => {
      const stream = log.stream()
      const events = several(2)
      await log.append(path, stream, events, 'no_stream')
      const duplicate = await log.append(path, stream, events, 1n)
      t.equal(duplicate.nextExpectedRevision, 3n)
      t.same(await numbersIn(log.client, stream), [0, 1, 0, 1], 'reload-then-retry duplicates')
    })

    t.test(`${path}: ids are compared within their stream only`, async (t) => {
      const events = several(2)
      const streams = [log.stream(), log.stream()]
      for (const stream of streams) await log.append(path, stream, events, 'any')
      for (const stream of streams) t.same(await numbersIn(log.client, stream), [0, 1])
    })

    t.test(`${path}: one append sent many times at once is stored once`, async (t) => {
      for (const revision of ['no_stream', 'any'] as const) {
        const stream = log.stream()
        const events = several(3)
        const results = await Promise.allSettled(
          Array.from({ length: 16 }, () => log.append(path, stream, events, revision)),
        )
        const done = results.filter((result) => result.status === 'fulfilled')
        t.ok(done.length > 0)
        for (const result of results) {
          if (result.status === 'fulfilled') t.equal(result.value.nextExpectedRevision, 2n)
          else t.ok(UNKNOWN_OUTCOME.has((result.reason as { type: string }).type))
        }
        t.same(await numbersIn(log.client, stream), [0, 1, 2])
      }
    })
  }

  t.test('a retry on the other append path is recognised', async (t) => {
    const stream = log.stream()
    const events = several(2).map((event) => ({ ...event, id: randomUUID().toUpperCase() }))
    await log.append('batch', stream, events, 'no_stream')
    const again = await log.append('unary', stream, events, 'no_stream')
    t.equal(again.nextExpectedRevision, 1n)
    const ids = (await collect(log.client.readStream(stream))).map(({ event }) => event?.id)
    t.same(
      ids,
      events.map(({ id }) => id.toLowerCase()),
    )
  })
})
