import t from 'tap'
import {
  type ConsoleSessions,
  SESSION_IDLE_MS,
  SESSION_MAX_MS,
} from '../../../src/app/access/console-sessions.ts'
import { recallSessions } from '../../../src/app/access/recalled-sessions.ts'

/** Sessions whose rows are in memory, and which can be away. */
function scripted() {
  let nowMs = 1_000_000
  let isAway = false
  let rows = new Map<string, { secretHash: string; viewedTenants: string[]; ageMs: number }>()
  const asked = <Answer>(answer: Answer): Promise<Answer> =>
    isAway ? Promise.reject(new Error('away')) : Promise.resolve(answer)
  const sessions: ConsoleSessions = {
    open: () => asked('tcs-x'),
    find: (id) => asked(rows.get(id)),
    viewed: () => asked(undefined),
    end: (id) => asked(void rows.delete(id)),
    list: () => asked([]),
    endListed: () => asked(false),
  }
  return {
    sessions: recallSessions(sessions, { nowMs: () => nowMs }),
    goAway: (away: boolean) => (isAway = away),
    pass: (ms: number) => (nowMs += ms),
    row: (id: string, ageMs = 0) => rows.set(id, { secretHash: id, viewedTenants: [], ageMs }),
    clear: () => (rows = new Map()),
  }
}

t.test('a session is recalled while Postgres is away, and only then', async (t) => {
  const { sessions, goAway, row, clear } = scripted()
  row('a')
  t.match(await sessions.find('a'), { secretHash: 'a', isRecalled: false })
  goAway(true)
  t.match(await sessions.find('a'), { secretHash: 'a', isRecalled: true })
  await t.rejects(sessions.find('b'), { message: 'away' })
  goAway(false)
  clear()
  t.equal(await sessions.find('a'), undefined, 'ended elsewhere')
  goAway(true)
  await t.rejects(sessions.find('a'), 'it is not recalled after that')
})

t.test('a recalled session ends as one that is found', async (t) => {
  const { sessions, goAway, pass, row } = scripted()
  row('old', SESSION_MAX_MS - 5_000)
  row('idle')
  row('used')
  for (const id of ['old', 'idle', 'used']) await sessions.find(id)
  goAway(true)
  pass(4_999)
  t.match(await sessions.find('old'), { isRecalled: true })
  t.match(await sessions.find('used'), { isRecalled: true })
  pass(1)
  await t.rejects(sessions.find('old'), 'after twelve hours')
  pass(SESSION_IDLE_MS - 5_000)
  t.match(await sessions.find('used'), { isRecalled: true })
  await t.rejects(sessions.find('idle'), 'after half an hour without a page')
})

t.test('a session of this process alone ends once Postgres answers', async (t) => {
  const { sessions, goAway } = scripted()
  goAway(true)
  const id = sessions.openHere({ secretHash: 'h', viewedTenants: [] })
  t.match(id, /^tcs-[\w-]{43}$/)
  t.match(await sessions.find(id), { secretHash: 'h', isRecalled: true })
  const other = sessions.openHere({ secretHash: 'h', viewedTenants: [] })
  await t.rejects(sessions.end(other), 'the row cannot be deleted')
  await t.rejects(sessions.find(other), 'yet it is not recalled')
  goAway(false)
  t.equal(await sessions.find(id), undefined)
  goAway(true)
  await t.rejects(sessions.find(id))
})
