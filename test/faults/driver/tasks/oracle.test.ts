import t from 'tap'
import { nothingKept } from '../assets/oracle.ts'
import { toPico } from '../bill.ts'
import { type Findings, sentAs } from '../findings.ts'
import type { LoggedTask } from '../log-reader.ts'
import { excuses, judge } from '../oracle.ts'
import type { Accepted } from '../sandbox.ts'
import { Witness } from '../witness.ts'
import type { Priced, Usage } from './family.ts'
import { taskFamily } from './registry.ts'

/** What the oracle knows of single families: their prices, and whose lists show no marker. */

const AT_MS = Date.parse('2026-01-02T03:04:05.000Z')
const listed = { duration: 6, resolution: '768P', ratio: '16:9' }

/** One creation: as upstream has it and as the log has it, of which nobody was told an id. */
interface Made {
  readonly accepted: Accepted
  readonly task: LoggedTask
  readonly listed: Readonly<Record<string, unknown>>
}

function made(
  name: string,
  members: { readonly settings?: object; readonly afterMs?: number } = {},
): Made {
  const { settings = {}, afterMs = 0 } = members
  const asked = { ...listed, ...settings }
  return {
    listed: asked,
    accepted: {
      seq: 1,
      id: `4-${name}`,
      family: 'video-b',
      requested_model: 'Sandbox-H3',
      safety_identifier: null,
      client_marker: name,
      accepted_at: new Date(AT_MS + afterMs + 50).toISOString(),
      status: 'succeeded',
      finished: true,
      outcome: 'succeeded',
      success: true,
      usage: { total_seconds: 6, output_seconds: 6 },
      usage_later: null,
      cancelled: false,
      deleted: false,
      gone: false,
    },
    task: {
      platformId: `video_${name}`,
      tenantId: 'tenant_demo',
      events: [
        {
          stream: `task-video_${name}`,
          type: 'TaskRequested',
          revision: 0n,
          at: 0,
          commandId: 'cmd',
          data: {},
        },
      ],
      family: 'video-b',
      requestId: `req_${name}`,
      model: 'h3-video',
      settings: asked,
      marker: `marker-${name}`,
      markerIsOurs: true,
      requestedAtMs: AT_MS + afterMs,
      nativeId: undefined,
      via: undefined,
      refused: false,
      uncertain: true,
      deleted: false,
      end: 'expired',
      possibleCostLeak: true,
      neverAccepted: false,
      settlements: [],
    },
  }
}

function findingsOf(
  all: readonly Made[],
  {
    accepted = all.map((one) => one.accepted),
    when = 'past-every-deadline',
  }: Partial<Findings> = {},
): Findings {
  const witness = new Witness()
  for (const one of all)
    witness.intend({
      marker: one.accepted.client_marker ?? '',
      family: 'video-b',
      priced: { model: one.task.model, hasVideo: false },
      listed: one.listed,
    })
  const tasks = new Map(all.map(({ task }) => [task.platformId, task]))
  const markers = new Map(all.map((one) => [one.task.requestId, one.accepted.client_marker ?? '']))
  return {
    accepted,
    tasks,
    sentAs: sentAs(tasks, markers, witness),
    lines: [],
    calls: {
      accepted: [],
      markers: new Map(),
      uploads: new Map(),
      calls: [],
      tasks: new Map(),
      lines: [],
      witness: witness.calls,
      deathsMs: [],
      mayBeOpen: false,
    },
    assets: nothingKept(),
    witness,
    when,
  }
}

function codes(all: readonly Made[], members: Partial<Findings> = {}): readonly string[] {
  const found = judge(findingsOf(all, members))
  return [...new Set(found.map(({ code }) => code))].sort()
}

const like = made('1')

t.test(
  'without markers a lost creation is excused only where another is equal to it',
  async (t) => {
    t.same(codes([like]), ['unsettled'], 'alone it can be nothing else')
    t.same(codes([like, made('2')]), [])
    t.same(Object.keys(excuses(findingsOf([like, made('2')]))), [
      'unsettled success: no list shows its marker, and another is like it',
    ])
    t.same(codes([like, made('2', { settings: { duration: 7 } })]), ['unsettled'], 'it is shown')
    t.same(codes([like, made('2', { afterMs: 60_000 })]), ['unsettled'], 'another time')
    const { accepted } = like
    const rival = made('2', { settings: { ratio: 'adaptive' } })
    t.same(codes([like, rival], { accepted: [accepted] }), [], 'two requests for one that is there')
    const refused = { ...rival, task: { ...rival.task, refused: true } }
    t.same(codes([like, refused], { accepted: [accepted] }), ['unsettled'])
    const unreported = { ...like, task: { ...like.task, possibleCostLeak: false } }
    t.ok(codes([unreported, made('2')]).includes('leak_unreported'))
  },
)

t.test('without markers an absence is not proved, and not reported as proved', async (t) => {
  const open = { ...like, task: { ...like.task, end: undefined, possibleCostLeak: false } }
  const never = { accepted: [] }
  t.same(codes([open], { ...never, when: 'past-every-absence' }), [])
  t.same(codes([open], never), ['still_open'])
  const givenUp = { ...like.task, end: 'failed' as const, neverAccepted: true }
  const task = { ...givenUp, possibleCostLeak: false }
  t.same(codes([{ ...like, task }], never), ['given_up_in_doubt'])
})

t.test('without markers too many doubtful tasks are an excuse for these families', async (t) => {
  const many = Array.from({ length: 51 }, (_, index) =>
    made(String(index), { settings: { duration: 1_000 + index } }),
  )
  t.same(codes(many), [])
  t.same(codes(many.slice(1)), ['unsettled'])
})

t.test('a task of a family without lists is excused once reported, and never found', async (t) => {
  const { accepted, task } = like
  const unlisted = {
    ...like,
    accepted: { ...accepted, family: 'speech' },
    task: { ...task, family: 'speech' },
  }
  t.same(codes([unlisted]), [])
  t.same(Object.keys(excuses(findingsOf([unlisted]))), [
    'unsettled success: nothing lists its family',
  ])
  const silent = { ...unlisted.task, possibleCostLeak: false }
  t.ok(codes([{ ...unlisted, task: silent }]).includes('unsettled'))
  const known = { ...unlisted.task, nativeId: accepted.id }
  t.ok(codes([{ ...unlisted, task: known }]).includes('unsettled'), 'it could have been asked for')
})

t.test('a task belongs to its own creation, however similar others are', async (t) => {
  const settlement = {
    nativeId: '4-2',
    usage: { total_seconds: 6 },
    currency: 'USD',
    amount: '0.4878',
    lines: [{ sku: 'h3-768p-second', quantity: 6, amount: '0.4878' }],
  }
  const events = ['TaskRequested', 'TaskSubmitted', 'TaskSucceeded', 'TaskSettled'].map((type) => ({
    ...like.task.events[0],
    type,
  })) as LoggedTask['events']
  const owner = { ...like.task, events, end: 'succeeded' as const, nativeId: '4-2' }
  const task = { ...owner, possibleCostLeak: false, settlements: [settlement] }
  const other = made('2')
  const stolen = codes([{ ...like, task }, other], { accepted: [other.accepted] })
  t.ok(stolen.includes('wrong_owner'))
})

t.test('prices are those of the price list, exact to the last digit', async (t) => {
  const owed = (name: string, priced: Omit<Priced, 'hasVideo'>, usage: Usage, hasVideo = false) =>
    taskFamily(name)
      .owed({ ...priced, hasVideo }, usage)
      .map(({ sku, quantity, pico, currency }) => `${sku} ${quantity} ${pico} ${currency}`)
  const tokens = (count: number) => ({ completion_tokens: count })
  const plain = { model: 'domestic-video-2-0', resolution: '720p' }
  t.same(owed('video-a', plain, tokens(1_000)), [
    `domestic-video-2-0-720p-novideo 1000 ${toPico('0.046')} CNY`,
  ])
  const overseas = { model: 'overseas-video-2-0-filter-off', resolution: '1080p' }
  t.same(owed('video-a', overseas, tokens(1), true), [
    `overseas-video-2-0-1080p-video 1 ${toPico('0.0000047')} USD`,
  ])
  t.same(owed('video-a', { model: 'overseas-video-2-5' }, tokens(3)), [
    `overseas-video-2-5-novideo 3 ${toPico('0.0000321')} USD`,
  ])
  const fast = { model: 'domestic-video-2-0-fast', resolution: '480p' }
  t.same(owed('video-a', fast, tokens(1_000_000), true), [
    `domestic-video-2-0-fast-video 1000000 ${toPico('22')} CNY`,
  ])
  const seconds = { output_seconds: 6, input_image_count: 7 }
  t.same(owed('video-b', { model: 'h3-video', resolution: '2K' }, seconds), [
    `h3-2k-second 6 ${toPico('0.9822')} USD`,
    `h3-extra-input-image 2 ${toPico('0.0062')} USD`,
  ])
  const told = { ...seconds, total_seconds: 11, input_image_count: 5 }
  t.same(owed('video-b', { model: 'h3-video-max' }, told), [
    `h3-max-768p-second 11 ${toPico('1.0021')} USD`,
  ])
  t.same(owed('video-c', { model: 'clipq2' }, { credits: 160 }), [
    `clipq2-credit 160 ${toPico('0.656')} USD`,
  ])
  t.same(owed('speech', { model: 'speech-2.6-hd' }, { character: 100 }), [
    `speech-2.6-hd-character 100 ${toPico('0.0083')} USD`,
  ])
  t.same(owed('video-c', { model: 'clipq2' }, { credits: 0 }), [], 'nothing is no line')
})
