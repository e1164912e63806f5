import { formatAmount, lineAmount } from '../../../src/kernel/money.ts'
import { accountStream } from '../../../src/domain/account/events.ts'
import type { AnyEvent } from '../../../src/domain/any-event.ts'
import { journalStream } from '../../../src/domain/call/events.ts'
import { taskStream } from '../../../src/domain/task/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'

/** Hand-made history: events as the log would give them back. */

export const START_MS = Date.parse('2026-03-04T05:06:07.000Z')
const PRICE = '70'
export const SKU = 'domestic-video-2-5-novideo'

/** Numbers events as a log does: positions grow with gaps, revisions count per stream. */
export class Recorder {
  #position = 100n
  #recordedAtMs = START_MS
  readonly #revisions = new Map<string, bigint>()

  /** A stream that is over: a log of a million of them must not be remembered here. */
  forget(stream: string): void {
    this.#revisions.delete(stream)
  }

  record(stream: string, event: AnyEvent, tenantId?: string): RecordedEvent {
    const revision = (this.#revisions.get(stream) ?? -1n) + 1n
    this.#revisions.set(stream, revision)
    this.#position += 7n
    this.#recordedAtMs += 11
    return {
      ...event,
      id: `00000000-0000-5000-8000-${this.#position.toString(16).padStart(12, '0')}`,
      metadata: {
        schemaVersion: 1,
        correlationId: 'req_test',
        commandId: 'test',
        ...(tenantId !== undefined && { tenantId }),
      },
      stream,
      revision,
      position: this.#position,
      recordedAt: new Date(this.#recordedAtMs),
    }
  }
}

export interface TaskShape {
  readonly n: number
  readonly tenantId?: string
  readonly model?: string
  readonly tokens?: number
}

/** A platform id that is told by its number and sorts by it. */
export function platformId(n: number): string {
  return `video_01J${n.toString().padStart(23, '0')}`
}

export function nativeId(n: number): string {
  return `cgt-${n}`
}

function at(n: number, offsetMs: number): string {
  return new Date(START_MS + n * 1_000 + offsetMs).toISOString()
}

/** The steps a task can take, each as one event. */
export function taskSteps(shape: TaskShape) {
  const { n, tenantId = 'tenant_1', model = 'domestic-video-2-5', tokens = 1_000 + n } = shape
  const id = platformId(n)
  const owner = { tenantId, userId: `user_${n % 3}`, tokenId: `tok_${n % 5}` }
  const surface = 'provA.tasks'
  const requestId = `req_${n}`
  const rated = {
    sku: SKU,
    rule: 'video-a/2.5/flat/novideo',
    unit: 'token',
    price: PRICE,
    per: 1_000_000,
  } as const
  const amount = formatAmount(lineAmount(tokens, PRICE, 1_000_000))
  const usage = { completion_tokens: tokens, total_tokens: tokens }
  const requested = {
    type: 'TaskRequested',
    data: {
      platformId: id,
      family: 'video-a',
      surface,
      ...owner,
      requestId,
      model,
      region: 'domestic',
      channelId: 'channel_1',
      upstreamModel: `up-${model}`,
      facts: {
        inputs: { text: 1, image: n % 2, video: 0, audio: 0 },
        tools: [],
        settings: { duration: 5, ratio: '16:9', resolution: '720p', watermark: false },
      },
      marker: `m-${n}`,
      markerIsOurs: true,
      quote: {
        priceBookVersion: '2026-03-01',
        currency: 'CNY',
        candidates: [rated],
        hold: '10.5',
      },
      requestedAt: at(n, 0),
      expiresAt: at(n, 172_800_000),
    },
  } satisfies AnyEvent
  return {
    requested,
    /** Of one that a worker of ours makes. */
    waiting: { ...requested, data: { ...requested.data, madeHere: true } },
    started: {
      type: 'TaskStarted',
      data: {
        platformId: id,
        channelId: 'channel_2',
        startedAt: at(n, 250),
        expiresAt: at(n, 900_250),
      },
    },
    submitted: {
      type: 'TaskSubmitted',
      data: {
        platformId: id,
        nativeId: nativeId(n),
        channelId: 'channel_1',
        via: 'create',
        submittedAt: at(n, 200),
      },
    },
    refused: {
      type: 'TaskSubmissionRefused',
      data: { platformId: id, code: 'invalid', message: 'refused', refusedAt: at(n, 200) },
    },
    uncertain: {
      type: 'TaskSubmissionUncertain',
      data: { platformId: id, reason: 'timeout', uncertainAt: at(n, 300) },
    },
    running: {
      type: 'TaskStatusChanged',
      data: { platformId: id, status: 'running', observedAt: at(n, 1_000) },
    },
    withheld: {
      type: 'TaskStatusChanged',
      data: {
        platformId: id,
        status: 'running',
        upstreamStatus: 'succeeded',
        awaitsUsage: true,
        observedAt: at(n, 4_000),
      },
    },
    succeeded: {
      type: 'TaskSucceeded',
      data: {
        platformId: id,
        nativeId: nativeId(n),
        usage,
        output: { resolution: '720p', ratio: '16:9', duration: 5, framespersecond: 24, seed: n },
        succeededAt: at(n, 5_000),
      },
    },
    settled: {
      type: 'TaskSettled',
      data: {
        platformId: id,
        nativeId: nativeId(n),
        ...owner,
        requestId,
        surface,
        model,
        usage,
        settlement: {
          priceBookVersion: '2026-03-01',
          currency: 'CNY',
          amount,
          lines: [{ ...rated, quantity: tokens, amount, measurement: 'reported' }],
        },
        settledAt: at(n, 5_000),
      },
    },
    failed: {
      type: 'TaskFailed',
      data: { platformId: id, code: 'OutputVideoSensitive', message: 'no', failedAt: at(n, 5_000) },
    },
    notAccepted: {
      type: 'TaskFailed',
      data: {
        platformId: id,
        code: 'not_accepted',
        message: 'never accepted',
        absence: { firstSeenAt: at(n, 400_000), lastSeenAt: at(n, 460_000) },
        failedAt: at(n, 460_000),
      },
    },
    givenUp: {
      type: 'TaskFailed',
      data: {
        platformId: id,
        code: 'given_up',
        message: 'given up by support',
        possibleCostLeak: true,
        givenUp: { noteId: `note_${n}` },
        failedAt: at(n, 460_000),
      },
    },
    appearedLate: {
      type: 'TaskAppearedLate',
      data: {
        platformId: id,
        nativeId: nativeId(n),
        channelId: 'channel_1',
        upstreamStatus: 'running',
        possibleCostLeak: true,
        appearedAt: at(n, 900_000),
      },
    },
    expired: {
      type: 'TaskExpired',
      data: {
        platformId: id,
        reason: 'deadline',
        possibleCostLeak: true,
        expiredAt: at(n, 172_800_000),
      },
    },
    cancelled: { type: 'TaskCancelled', data: { platformId: id, cancelledAt: at(n, 900) } },
    deleted: {
      type: 'TaskDeleted',
      data: { platformId: id, tokenId: owner.tokenId, deletedAt: at(n, 9_000) },
    },
  } as const satisfies Record<string, AnyEvent>
}

export type TaskStep = keyof ReturnType<typeof taskSteps>

/** Ways a task's life can go. */
export const lives = {
  settled: ['requested', 'submitted', 'running', 'succeeded', 'settled'],
  settledThenDeleted: ['requested', 'submitted', 'running', 'succeeded', 'settled', 'deleted'],
  failed: ['requested', 'submitted', 'running', 'failed'],
  refused: ['requested', 'refused'],
  adopted: ['requested', 'uncertain', 'submitted', 'running', 'succeeded', 'settled'],
  lost: ['requested', 'uncertain', 'expired'],
  neverAccepted: ['requested', 'uncertain', 'notAccepted'],
  appearedLate: ['requested', 'uncertain', 'notAccepted', 'deleted', 'appearedLate'],
  givenUp: ['requested', 'uncertain', 'givenUp'],
  givenUpLate: ['requested', 'uncertain', 'givenUp', 'appearedLate'],
  givenUpUnreported: ['requested', 'submitted', 'running', 'withheld', 'givenUp'],
  cancelled: ['requested', 'submitted', 'cancelled', 'deleted'],
  stuck: ['requested', 'submitted', 'running'],
  begun: ['requested'],
  queued: ['requested', 'submitted'],
  made: ['waiting', 'started', 'succeeded', 'settled'],
  madeSlowly: ['waiting', 'started', 'uncertain', 'succeeded', 'settled'],
  notMade: ['waiting', 'failed'],
  lostByItsWorker: ['waiting', 'started', 'uncertain', 'expired'],
  waiting: ['waiting'],
  making: ['waiting', 'started'],
  doubted: ['waiting', 'started', 'uncertain'],
  awaitingUsage: ['requested', 'submitted', 'running', 'withheld'],
  reportedLate: ['requested', 'submitted', 'withheld', 'succeeded', 'settled'],
  neverReported: ['requested', 'submitted', 'withheld', 'expired'],
} as const satisfies Record<string, readonly TaskStep[]>

export type Life = keyof typeof lives
const LIFE_NAMES = Object.keys(lives) as Life[]

/** Records one step of a task. */
export function recordStep(recorder: Recorder, shape: TaskShape, step: TaskStep): RecordedEvent {
  return recorder.record(taskStream(platformId(shape.n)), taskSteps(shape)[step])
}

/** Events of the account and the tokens of a tenant. */
export function openTenant(recorder: Recorder, tenantId: string): readonly RecordedEvent[] {
  const time = new Date(START_MS).toISOString()
  const account = accountStream(tenantId)
  const userId = 'user_0'
  const tokenId = `tok_${tenantId}`
  return [
    recorder.record(account, {
      type: 'TenantOpened',
      data: { tenantId, name: tenantId, openedAt: time },
    }),
    recorder.record(account, {
      type: 'UserAdded',
      data: { tenantId, userId, name: 'Ada', addedAt: time },
    }),
    recorder.record(account, {
      type: 'CreditGranted',
      data: {
        tenantId,
        grantId: `grant_${tenantId}`,
        currency: 'CNY',
        amount: '10000',
        reason: 'demo',
        grantedAt: time,
      },
    }),
    recorder.record(account, {
      type: 'CreditLimitSet',
      data: { tenantId, currency: 'CNY', limit: '50', setAt: time },
    }),
    recorder.record(account, {
      type: 'AdjustmentPosted',
      data: {
        tenantId,
        adjustmentId: `adj_${tenantId}`,
        currency: 'CNY',
        amount: '-0.25',
        corrects: { kind: 'grant', grantId: `grant_${tenantId}` },
        reason: 'fix',
        postedAt: time,
      },
    }),
    recorder.record(`token-${tokenId}`, {
      type: 'TokenIssued',
      data: {
        tokenId,
        secretHash: `hash_${tenantId}`,
        lastFour: 'abcd',
        tenantId,
        userId,
        kind: 'model',
        name: 'main',
        issuedAt: time,
      },
    }),
  ]
}

/** A settled call of two lines, in USD. */
export function recordCall(recorder: Recorder, n: number, tenantId = 'tenant_1'): RecordedEvent {
  const line = (sku: string, quantity: number, price: string) =>
    ({
      sku,
      rule: 'chat',
      quantity,
      unit: 'token',
      price,
      per: 1_000_000,
      amount: formatAmount(lineAmount(quantity, price, 1_000_000)),
      measurement: 'reported',
    }) as const
  const lines = [line('gpt-x-input-token', 100 + n, '4.3'), line('gpt-x-output-token', 7, '12')]
  const amountPico = lines.reduce(
    (sum, { quantity, price }) => sum + lineAmount(quantity, price, 1_000_000),
    0n,
  )
  return recorder.record(journalStream('i1', 1), {
    type: 'CallSettled',
    data: {
      callId: `call_${n}`,
      surface: 'openai.chat',
      tenantId,
      userId: `user_${n % 3}`,
      tokenId: `tok_${n % 5}`,
      requestId: `req_call_${n}`,
      model: 'gpt-x',
      channelId: 'text-usd',
      upstreamModel: 'upstream-x',
      stream: false,
      startedAt: at(n, 0),
      outcome: 'completed',
      usage: { input: 100 + n, output: 7 },
      settlement: {
        priceBookVersion: '2026-03-01',
        currency: 'USD',
        amount: formatAmount(amountPico),
        lines: [...lines],
      },
      settledAt: at(n, 700),
    },
  })
}

/**
 * Many tasks whose lives overlap: at any time about `width` are under way. Lives are given by the
 * task's number; the same arguments always give the same events.
 */
export function* overlappingTasks(
  recorder: Recorder,
  options: {
    readonly tasks: number
    readonly width: number
    readonly shape?: (n: number) => Omit<TaskShape, 'n'>
    readonly life?: (n: number) => Life
  },
): Generator<RecordedEvent> {
  const { tasks, width, shape = () => ({}), life = () => 'settled' } = options
  const running: { n: number; steps: AnyEvent[] }[] = []
  let next = 0
  let turn = 0
  while (next < tasks || running.length > 0) {
    while (running.length < width && next < tasks) {
      const all = taskSteps({ n: next, ...shape(next) })
      running.push({ n: next, steps: lives[life(next)].map((step) => all[step]) })
      next += 1
    }
    // A fixed stride through the running ones mixes them without randomness.
    turn = (turn * 31 + 17) % running.length
    const task = running[turn]!
    const step = task.steps.shift()!
    // A success and its settlement are one append (P2).
    const steps = step.type === 'TaskSucceeded' ? [step, task.steps.shift()!] : [step]
    const stream = taskStream(platformId(task.n))
    for (const each of steps) yield recorder.record(stream, each)
    if (task.steps.length === 0) {
      running.splice(turn, 1)
      recorder.forget(stream)
    }
    turn += 1
  }
}

/** A little of everything that can happen, different for every seed. */
export function mixedHistory(tasks: number, seed = 0): RecordedEvent[] {
  const recorder = new Recorder()
  return [
    ...openTenant(recorder, 'tenant_0'),
    ...openTenant(recorder, 'tenant_1'),
    ...overlappingTasks(recorder, {
      tasks,
      width: 13,
      shape: (n) => ({ tenantId: `tenant_${(n + seed) % 3}`, model: `model-${n % 4}` }),
      life: (n) => LIFE_NAMES[(n * 7 + seed) % LIFE_NAMES.length] ?? 'settled',
    }),
    recordCall(recorder, seed),
  ]
}
