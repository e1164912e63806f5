import {
  BACKWARDS,
  END,
  StreamDeletedError,
  StreamNotFoundError,
  WrongExpectedVersionError,
} from '@eventstore/db-client'
import t from 'tap'
import {
  APPEND_PATHS,
  collect,
  onEveryServer,
  numbered,
  numberOf,
  numbersIn,
  several,
  refused,
} from './setup.ts'

await onEveryServer(t, async (t, log) => {
  const { client } = log

  t.test('a deleted stream reads as one that does not exist', async (t) => {
    for (const expectedRevision of ['any', 2n] as const) {
      const stream = log.stream()
      await client.appendToStream(stream, several(3))
      const result = await client.deleteStream(stream, { expectedRevision })
      t.ok((result.position?.commit ?? -1n) >= 0n)
      await refused(t, collect(client.readStream(stream)), StreamNotFoundError)
      const backwards = client.readStream(stream, { direction: BACKWARDS, fromRevision: END })
      await refused(t, collect(backwards), StreamNotFoundError)
    }
  })

  t.test('a delete at a wrong revision is refused and deletes no event', async (t) => {
    const stream = log.stream()
    await client.appendToStream(stream, several(3))
    for (const expectedRevision of [1n, 3n, 'no_stream'] as const) {
      await refused(t, client.deleteStream(stream, { expectedRevision }), WrongExpectedVersionError)
    }
    t.same(await numbersIn(client, stream), [0, 1, 2])
  })

  t.test('deleting a stream that does not exist is refused', async (t) => {
    await refused(t, client.deleteStream(log.stream()), WrongExpectedVersionError)
  })

  for (const path of APPEND_PATHS) {
    for (const revision of ['no_stream', 'any', 2n] as const) {
      t.test(`${path}: a deleted stream is written to again at ${revision}`, async (t) => {
        const stream = log.stream()
        await log.append(path, stream, several(3))
        await client.deleteStream(stream)
        const result = await log.append(path, stream, several(2, 10), revision)
        t.equal(result.nextExpectedRevision, 4n, 'revisions go on where they were')
        t.same(await numbersIn(client, stream), [10, 11], 'what was deleted stays hidden')
        const options = { direction: BACKWARDS, fromRevision: END } as const
        t.same((await collect(client.readStream(stream, options))).map(numberOf), [11, 10])
      })
    }

    t.test(`${path}: a deleted stream does not exist to stream_exists`, async (t) => {
      const stream = log.stream()
      await log.append(path, stream, several(3))
      await client.deleteStream(stream)
      await refused(t, log.append(path, stream, numbered(1), 'stream_exists'), StreamDeletedError)
    })

    t.test(`${path}: a tombstoned stream is never written to again`, async (t) => {
      const stream = log.stream()
      await log.append(path, stream, several(3))
      await client.tombstoneStream(stream, { expectedRevision: 2n })
      for (const revision of ['any', 'no_stream', 'stream_exists', 2n] as const) {
        const error = await refused(
          t,
          log.append(path, stream, numbered(9), revision),
          StreamDeletedError,
        )
        t.equal(error.streamName, stream)
      }
    })
  }

  t.test('a tombstoned stream cannot be read, deleted or tombstoned again', async (t) => {
    const stream = log.stream()
    await client.appendToStream(stream, several(3))
    await client.tombstoneStream(stream)
    await refused(t, collect(client.readStream(stream)), StreamDeletedError)
    await refused(t, client.deleteStream(stream), StreamDeletedError)
    await refused(t, client.tombstoneStream(stream), StreamDeletedError)
  })

  t.test('a tombstone at a wrong revision is refused without an effect', async (t) => {
    const stream = log.stream()
    await client.appendToStream(stream, several(2))
    for (const expectedRevision of [0n, 5n, 'no_stream'] as const) {
      await refused(
        t,
        client.tombstoneStream(stream, { expectedRevision }),
        WrongExpectedVersionError,
      )
    }
    t.same(await numbersIn(client, stream), [0, 1])
  })
})
