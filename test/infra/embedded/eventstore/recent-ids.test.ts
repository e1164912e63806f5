import t from 'tap'
import { MAX_APPEND_EVENTS, RECENT_IDS } from '../../../../infra/embedded/eventstore/limits.ts'
import { RecentIds } from '../../../../infra/embedded/eventstore/recent-ids.ts'

const seenAt = (position: number) => ({ stream: 's', revision: position, position })

/** Events of one commit, from a position on; an id is its position. */
function* committed(from: number, count: number) {
  for (let position = from; position < from + count; position += 1)
    yield [String(position), seenAt(position)] as const
}

t.test('the newest ids are known with their places, old ones are forgotten', async (t) => {
  const ids = new RecentIds()
  const commits = 5 * RECENT_IDS
  for (let position = 1; position <= commits; position += 1) ids.add(committed(position, 1))
  for (const position of [commits - RECENT_IDS + 1, commits])
    t.same(ids.get(String(position)), seenAt(position))
  for (const position of [1, commits - 2 * RECENT_IDS])
    t.equal(ids.get(String(position)), undefined)
})

t.test('the largest append is known whole, whatever came before it', async (t) => {
  for (const before of [0, RECENT_IDS - 1, RECENT_IDS, MAX_APPEND_EVENTS - 1]) {
    const ids = new RecentIds()
    ids.add(committed(1, before))
    ids.add(committed(before + 1, MAX_APPEND_EVENTS))
    const forgotten = [...committed(before + 1, MAX_APPEND_EVENTS)].filter(
      ([id, { position }]) => ids.get(id)?.position !== position,
    )
    t.same(forgotten, [], `after ${before} events`)
  }
})
