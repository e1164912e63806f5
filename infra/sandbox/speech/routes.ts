import type { FastifyRequest } from 'fastify'
import { addCall, type Asker } from '../calls/run.ts'
import type { SandboxFamily } from '../family.ts'
import { queryOf } from '../http/wire.ts'
import { type Fields, textIn } from '../kit/body.ts'
import { IdMaker, randomInteger } from '../kit/clock.ts'
import { taskHandlers } from '../tasks/run.ts'
import { AUDIO_PATH, audioFile, type Audio, audioUrl, bytesOf, fileName } from './audio.ts'
import { addCloneRoute } from './clone.ts'
import { addUploadRoute, fileAnswer } from './files.ts'
import { FAMILY, speak, type Speakers, Voices, readSpeech, reportedOf } from './service.ts'
import { speechWire, int64, refusalOf, succeeded } from './parse.ts'
import { type Faults, isOn } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { taskPlan, type Phase } from '../tasks/record.ts'
import { FamilyTasks, type FoundTask } from '../tasks/service.ts'

/** Speech that is made as a task. */

/** A link to a result is good for nine hours. */
const LINK_SECONDS = 9 * 3_600
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

const missing = () => refusalOf(2013, 'task_id')
const shown = (...[{ record }, state]: FoundTask): object => ({
  task_id: int64(record.id),
  status: state.strange ?? WORDS[state.phase],
  ...(record.plan.outcome === 'succeeded' ? { file_id: int64(fileIdOf(record.id)) } : {}),
})

class SpeechTasks {
  readonly #speakers: Speakers
  readonly #tasks: FamilyTasks

  constructor(speakers: Speakers) {
    this.#speakers = speakers
    this.#tasks = new FamilyTasks(speakers.kit, FAMILY, missing, shown)
  }

  /** Answered only once it is durable. */
  async create(body: Fields | null, asker: Asker, faults: Faults): Promise<Answer> {
    const { kit } = this.#speakers
    const order = readSpeech(this.#speakers, body, asker.credential, true)
    const reported = isOn(faults, 'usage-missing') ? null : reportedOf(order.characters, faults)
    const usage = reported === null ? null : { usage_characters: reported }
    // Eighteen digits: more than a double holds.
    const digit = (): number => randomInteger(kit.random, 10)
    const { id } = await this.#tasks.accept({
      id: this.#tasks.freshId(() => `4${Array.from({ length: 17 }, digit).join('')}`),
      model: order.model,
      clientMarker: asker.markers.clientMarker,
      credential: asker.credential,
      plan: taskPlan(faults, kit.options),
      usage,
      detail: { ...order.audio },
    })
    return succeeded(kit, {
      task_id: int64(id),
      task_token: 'eyJzYW5kYm94Ijp0cnVlfQ',
      file_id: int64(fileIdOf(id)),
      ...usage,
    })
  }

  query(id: string, credential: string): Answer {
    const body = this.#tasks.render(this.#tasks.find(id, credential))
    return succeeded(this.#speakers.kit, body)
  }

  /** Where the result of a task is, by the file it is kept as. */
  retrieve(fileId: string, credential: string): Answer {
    const { audio, record, state } = this.#made(fileId, credential)
    const id = `t${record.id}`
    const { kit } = this.#speakers
    return succeeded(kit, {
      file: {
        file_id: int64(fileId),
        bytes: bytesOf(audio).length,
        created_at: Math.floor(state.atMs / 1_000),
        filename: fileName(id, audio),
        purpose: 't2a_async',
        download_url: audioUrl(kit, id, audio, LINK_SECONDS),
      },
    })
  }

  /** The bytes of a file. */
  content(fileId: string, credential: string): Buffer {
    return bytesOf(this.#made(fileId, credential).audio)
  }

  /** @throws Refusal where there is no result of that id */
  #made(fileId: string, credential: string) {
    if (!/^\d{10,19}$/.test(fileId)) throw refusalOf(2013, 'file_id')
    const [{ record }, state] = this.#tasks.find(taskIdOf(fileId), credential)
    if (state.phase !== 'succeeded') throw refusalOf(2013, 'file_id')
    return { audio: record.detail as unknown as Audio, record, state }
  }
}

const AT = '/speech'
const PREFIX = `${AT}/v1`

const inQuery = (name: string) => (request: FastifyRequest) => queryOf(request).get(name) ?? ''
const spokenIn = (body: Fields | null): string => (body && textIn(body, 'text')) ?? ''

/** Speech, at once and as tasks, its files and its voices; every answer is a 200. */
export const speech: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const voices = new Voices()
    kit.onReset(() => voices.reset())
    const wire = speechWire(kit, FAMILY)
    const speakers: Speakers = { kit, wire, ids: new IdMaker(kit.random), voices }
    const tasks = new SpeechTasks(speakers)
    const { asked, open } = taskHandlers(kit, wire)
    addCall(app, kit, wire, `${PREFIX}/t2a_v2`, (body) => ({
      userText: spokenIn(body),
      perform: (asker, faults) => speak(speakers, body, asker, faults),
    }))
    addCall(app, kit, wire, `${PREFIX}/t2a_async_v2`, (body) => ({
      op: 'create-task',
      userText: spokenIn(body),
      perform: (asker, faults) => tasks.create(body, asker, faults),
    }))
    app.get(
      `${PREFIX}/query/t2a_async_query_v2`,
      asked('get', ({ id, credential }) => tasks.query(id, credential), inQuery('task_id')),
    )
    app.get(
      `${PREFIX}/files/retrieve`,
      asked(
        'retrieve',
        ({ id, credential }) => fileAnswer(kit, credential, id) ?? tasks.retrieve(id, credential),
        inQuery('file_id'),
      ),
    )
    app.get(
      `${AUDIO_PATH}/:id`,
      open('media', (request) => audioFile(kit, request)),
    )
    addUploadRoute(app, kit, wire, AT, (id, credential) => tasks.content(id, credential))
    addCloneRoute(app, speakers, AT)
  },
}
