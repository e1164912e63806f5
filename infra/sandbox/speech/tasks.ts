import { credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import { type Faults, isOn } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { Fields } from '../kit/body.ts'
import { randomInteger } from '../kit/random.ts'
import { signUrl } from '../media/files.ts'
import { FamilyTasks, type FoundTask } from '../tasks/family-tasks.ts'
import { taskPlan } from '../tasks/plan.ts'
import type { Phase } from '../tasks/record.ts'
import type { Asker } from '../text/service.ts'
import { type Audio, AUDIO_PATH, bytesOf, fileName } from './audio.ts'
import { SpeechRefusal } from './errors.ts'
import { bare, int64 } from './int64.ts'
import { FAMILY, reportedOf, type SpeechService } from './service.ts'

/** Speech that is made as a task. */

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

/** What a result is kept under: never the id of its task. */
const fileIdOf = (taskId: string): string => String(BigInt(taskId) + 172n)
const taskIdOf = (fileId: string): string => String(BigInt(fileId) - 172n)

export class SpeechTasks {
  readonly #kit: FamilyKit
  readonly #service: SpeechService
  readonly #tasks: FamilyTasks

  constructor(kit: FamilyKit, service: SpeechService) {
    this.#kit = kit
    this.#service = service
    this.#tasks = new FamilyTasks(kit, FAMILY)
  }

  /** Answered only once it is durable. */
  async create(body: Fields | null, asker: Asker, faults: Faults): Promise<Answer> {
    const { clock, options } = this.#kit
    const ask = this.#service.read(body, asker.credential, true)
    const reported = isOn(faults, 'usage-missing') ? null : reportedOf(ask.characters, faults)
    const usage = reported === null ? null : { usage_characters: reported }
    const { id } = await this.#tasks.accept({
      id: this.#newId(),
      acceptedAtMs: clock.nowMs(),
      model: ask.model,
      requestedModel: ask.model,
      safetyIdentifier: null,
      clientMarker: asker.markers.clientMarker,
      credential: credentialHash(asker.credential),
      plan: taskPlan(faults, options),
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
    const found = this.#find(id, credential)
    const [task, state] = found
    this.#tasks.told(found)
    return this.#ok({
      task_id: int64(id),
      status: state.strange ?? WORDS[state.phase],
      ...(task.record.plan.outcome === 'succeeded' ? { file_id: int64(fileIdOf(id)) } : {}),
    })
  }

  /** Where the result of a task is, by the file it is kept as. */
  retrieve(fileId: string, credential: string): Answer {
    const { audio, record, state } = this.#made(fileId, credential)
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

  /** The same as its bytes. */
  content(fileId: string, credential: string): Buffer {
    return bytesOf(this.#made(fileId, credential).audio)
  }

  /** @throws SpeechRefusal where there is no result of that id */
  #made(fileId: string, credential: string) {
    if (!/^\d{10,19}$/.test(fileId)) throw new SpeechRefusal(2013, 'file_id')
    const [{ record }, state] = this.#find(taskIdOf(fileId), credential)
    if (state.phase !== 'succeeded') throw new SpeechRefusal(2013, 'file_id')
    return { audio: record.detail as unknown as Audio, record, state }
  }

  /** @throws SpeechRefusal where the account has none of that id */
  #find(id: string, credential: string): FoundTask {
    const found = this.#tasks.find(id, credentialHash(credential))
    if (found === null) throw new SpeechRefusal(2013, 'task_id')
    return found
  }

  /** Eighteen digits: more than a double holds. */
  #newId(): string {
    const digit = (): number => randomInteger(this.#kit.random, 10)
    return this.#tasks.freshId(() => `4${Array.from({ length: 17 }, digit).join('')}`)
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
