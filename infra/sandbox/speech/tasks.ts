import { credentialHash } from '../calls/credential-hash.ts'
import type { FamilyKit } from '../family.ts'
import { countOf, isOn, wordOf, type Faults } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { randomInteger } from '../kit/random.ts'
import { signUrl } from '../media/signed-url.ts'
import type { SandboxOptions } from '../options.ts'
import type { Phase, TaskPlan } from '../tasks/record.ts'
import type { StoredTask } from '../tasks/store.ts'
import type { TaskState } from '../tasks/timeline.ts'
import type { Fields } from '../text/fields.ts'
import type { Asker } from '../text/service.ts'
import { type Audio, AUDIO_PATH, bytesOf, fileName } from './audio.ts'
import { SpeechRefusal } from './errors.ts'
import { bare, int64 } from './int64.ts'
import { FAMILY, reportedOf, type SpeechService } from './service.ts'

/** Speech that is made as a task. */

const MAX_ID_TRIES = 1_000
/** A link to a result is good for nine hours. */
const LINK_SECONDS = 9 * 3_600
const SUCCESS = { status_code: 0, status_msg: 'success' }
const WORDS: Readonly<Record<Phase, string>> = {
  queued: 'Processing',
  running: 'Processing',
  succeeded: 'Success',
  failed: 'Failed',
  expired: 'Expired',
  cancelled: 'Failed',
}

/** What becomes of a task. */
function planOf(faults: Faults, options: SandboxOptions): TaskPlan {
  const stuck = isOn(faults, 'stall-queued')
  const endless = stuck || isOn(faults, 'stall')
  const failCode = wordOf(faults, 'fail')
  const scaled = (ms: number): number => Math.round(ms * options.timeScale)
  return {
    queuedMs: stuck ? null : (countOf(faults, 'queued-ms') ?? scaled(options.queuedMs)),
    runningMs: endless ? null : (countOf(faults, 'running-ms') ?? scaled(options.runningMs)),
    outcome: failCode !== null ? 'failed' : isOn(faults, 'expire') ? 'expired' : 'succeeded',
    failCode,
    expiresMs: null,
    strangeStatus: wordOf(faults, 'status'),
    goneMs: countOf(faults, 'gone-ms') ?? (isOn(faults, 'gone') ? 0 : null),
    callback: null,
  }
}

/** What a result is kept under: never the id of its task. */
const fileIdOf = (taskId: string): string => String(BigInt(taskId) + 172n)
const taskIdOf = (fileId: string): string => String(BigInt(fileId) - 172n)

export class SpeechTasks {
  readonly #kit: FamilyKit
  readonly #service: SpeechService

  constructor(kit: FamilyKit, service: SpeechService) {
    this.#kit = kit
    this.#service = service
  }

  /** Answered only once it is durable. */
  async create(body: Fields | null, asker: Asker, faults: Faults): Promise<Answer> {
    const { store, clock, options } = this.#kit
    const ask = this.#service.read(body, asker.credential, true)
    const reported = isOn(faults, 'usage-missing') ? null : reportedOf(ask.characters, faults)
    const usage = reported === null ? null : { usage_characters: reported }
    const { id } = await store.accept({
      id: this.#newId(),
      family: FAMILY,
      acceptedAtMs: clock.nowMs(),
      model: ask.model,
      requestedModel: ask.model,
      safetyIdentifier: null,
      clientMarker: asker.markers.clientMarker,
      credential: credentialHash(asker.credential),
      plan: planOf(faults, options),
      usage,
      usageLater: null,
      detail: { ...ask.audio },
    })
    return this.#ok({
      task_id: int64(id),
      task_token: 'eyJzYW5kYm94Ijp0cnVlfQ',
      file_id: int64(fileIdOf(id)),
      ...usage,
    })
  }

  query(id: string, credential: string): Answer {
    const [task, state] = this.#find(id, credential)
    const succeeded = state.phase === 'succeeded'
    this.#kit.store.queried(id, succeeded, this.#kit.clock.nowMs())
    return this.#ok({
      task_id: int64(id),
      status: state.strange ?? WORDS[state.phase],
      ...(task.record.plan.outcome === 'succeeded' ? { file_id: int64(fileIdOf(id)) } : {}),
    })
  }

  /** Where the result of a task is, by the file it is kept as. */
  retrieve(fileId: string, credential: string): Answer {
    if (!/^\d{10,19}$/.test(fileId)) throw new SpeechRefusal(2013, 'file_id')
    const [{ record }, state] = this.#find(taskIdOf(fileId), credential)
    if (state.phase !== 'succeeded') throw new SpeechRefusal(2013, 'file_id')
    const audio = record.detail as unknown as Audio
    const name = fileName(`t${record.id}`, audio)
    const { clock } = this.#kit
    return this.#ok({
      file: {
        file_id: int64(fileId),
        bytes: bytesOf(audio).length,
        created_at: Math.floor(state.atMs / 1_000),
        filename: name,
        purpose: 't2a_async',
        download_url: signUrl(
          this.#kit.baseUrl(),
          `${AUDIO_PATH}/${name}`,
          clock.nowMs(),
          LINK_SECONDS,
        ),
      },
    })
  }

  /** @throws SpeechRefusal where the account has none of that id */
  #find(id: string, credential: string): readonly [StoredTask, TaskState] {
    const task = this.#kit.store.get(id)
    const mine = task?.record.credential === credentialHash(credential)
    if (task !== null && mine && task.record.family === FAMILY) {
      const state = this.#kit.store.stateOf(task, this.#kit.clock.nowMs())
      if (state.visible) return [task, state]
    }
    throw new SpeechRefusal(2013, 'task_id')
  }

  /** Eighteen digits: more than a double holds. */
  #newId(): string {
    const { random, store } = this.#kit
    for (let tries = 0; tries < MAX_ID_TRIES; tries += 1) {
      const digits = Array.from({ length: 17 }, () => randomInteger(random, 10)).join('')
      if (store.reserve(`4${digits}`)) return `4${digits}`
    }
    throw new Error('no free task id')
  }

  #ok(body: object): Answer {
    const traceId = this.#service.traceId()
    return {
      status: 200,
      headers: { 'trace-id': traceId, 'content-type': 'application/json; charset=utf-8' },
      body: bare({ ...body, base_resp: SUCCESS }),
    }
  }
}
