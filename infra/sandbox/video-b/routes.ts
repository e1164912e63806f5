import type { FastifyInstance, FastifyRequest } from 'fastify'
import { credentialHash } from '../calls/store.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { parseMarkers, type PromptMarkers, type Faults } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { Refusal } from '../http/wire.ts'
import { type Fields, objectsIn, textIn } from '../kit/body.ts'
import { randomHex, randomInteger } from '../kit/clock.ts'
import { partOfFile, signedFile } from '../media/files.ts'
import { mp4OfSeconds } from '../media/pictures.ts'
import { addDownloadRoute, addUploadRoute } from '../speech/files.ts'
import { speechWire } from '../speech/parse.ts'
import { taskPlan } from '../tasks/record.ts'
import { type BodyWire, type RequestWithBody, taskHandlers } from '../tasks/run.ts'
import { FamilyTasks, type FoundTask, type Listing, numberIn } from '../tasks/service.ts'
import {
  detailOf,
  MEDIA_PATH,
  parseBody,
  parseRequest,
  taskBody,
  taskOf,
  usageOf,
  type VideoDetail,
  NOT_FOUND,
  videoWire,
} from './parse.ts'

const FAMILY = 'video-b'
/** Upstreams of this kind have other families beside this one on their paths. */
const BASE_PATH = '/video-b/v2'
const MAX_PAGE = 100

const bodies: BodyWire = { parse: parseBody, markersOf }

/** The prompt's markers, as far as a body can be read at all. @throws UnknownSwitch */
function markersOf({ content }: Fields): PromptMarkers {
  const texts = objectsIn(content).map((item) => textIn(item, 'text'))
  return parseMarkers(texts.filter((text) => text !== null).join('\n'))
}

/** The operations of this wire, each for one account; they throw Refusal for what they refuse. */
class VideoService {
  readonly #kit: FamilyKit
  readonly #tasks: FamilyTasks

  constructor(kit: FamilyKit) {
    this.#kit = kit
    const render = (...found: FoundTask): object => taskBody(kit, ...found)
    this.#tasks = new FamilyTasks(kit, FAMILY, () => NOT_FOUND, render)
  }

  /** Accepts a task: answered only once it is durable, and its receiver knows of it. */
  async create({ body, credential, faults }: RequestWithBody): Promise<Answer> {
    const { options, random, callbacks } = this.#kit
    const request = parseRequest(body)
    const { model, callbackUrl } = request
    if (callbackUrl !== null && !(await callbacks.challenge(callbackUrl, randomHex(random, 32))))
      throw new Refusal('2013', 'invalid params, callback_url does not give the challenge back')
    const number = (): number => randomInteger(random, 100_000_000_000_000)
    const id = this.#tasks.freshId(() => `4${String(number()).padStart(14, '0')}`)
    await this.#tasks.accept({
      id,
      model,
      clientMarker: parseMarkers(request.prompt).clientMarker,
      credential,
      plan: taskPlan(faults, options, { callbackUrl }),
      ...usageOf(request, faults),
      detail: { ...detailOf(request, id) },
    })
    return ok({ task_id: id })
  }

  get(id: string, credential: string): Answer {
    return ok(this.#tasks.render(this.#tasks.find(id, credential)))
  }

  /** Everything an account has made, newest first. */
  list(query: URLSearchParams, credential: string, faults: Faults): Answer {
    const page = pageNumber(query, 'page_num', 1, 100_000) - 1
    const size = pageNumber(query, 'page_size', 20, MAX_PAGE)
    const account = credentialHash(credential)
    const fits: Listing['fits'] = ({ record }) => record.credential === account
    const { items, total } = this.#tasks.list({ page, size, faults, fits })
    const render = (...found: FoundTask): object => taskOf(this.#kit, ...found)
    return ok({ tasks: items.map((found) => this.#tasks.render(found, render)), total })
  }

  /** Cancels what is queued, deletes what has ended, refuses the rest. */
  async remove(id: string, credential: string): Promise<Answer> {
    const found = this.#tasks.find(id, credential)
    const [, { phase }] = found
    if (phase === 'running' || phase === 'cancelled')
      throw new Refusal('2013', `invalid params, a ${phase} task cannot be deleted`)
    const wasQueued = await this.#tasks.remove(found)
    const [action, status] = wasQueued ? ['cancelled', 'cancelled'] : ['deleted', phase]
    return ok({ task_id: id, action, status })
  }
}

function pageNumber(query: URLSearchParams, name: string, absent: number, max: number): number {
  const invalid = () => new Refusal('2013', `invalid params, ${name} must be from 1 to ${max}`)
  return numberIn(query, name, { absent, min: 1, max }, invalid, /^[1-9]\d{0,5}$/)
}

function ok(body: object): Answer {
  return { status: 200, body }
}

/** A result file; its signed URL is the only credential. */
function resultFile(kit: FamilyKit, request: FastifyRequest): Promise<Answer> {
  return signedFile(kit, request, MEDIA_PATH, (name) => {
    const task = kit.store.get(/^(\d{15})\.mp4$/.exec(name)?.[1] ?? '')
    if (task === null) return null
    const { duration } = task.record.detail as unknown as VideoDetail
    return partOfFile(mp4OfSeconds(duration), 'video/mp4', request.headers.range)
  })
}

function addRoutes(app: FastifyInstance, kit: FamilyKit): void {
  const service = new VideoService(kit)
  const { asked, sent, open } = taskHandlers(kit, videoWire(kit, FAMILY))
  const create = sent('create', bodies, (call) => service.create(call))
  const get = asked('get', ({ id, credential }) => service.get(id, credential))
  const remove = asked('delete', ({ id, credential }) => service.remove(id, credential))
  const list = asked('list', ({ query, credential, faults }) =>
    service.list(query, credential, faults),
  )
  app.post(`${BASE_PATH}/video_generation`, create)
  app.get(`${BASE_PATH}/query/video_generation/:id`, get)
  app.get(`${BASE_PATH}/query/video_generation`, list)
  app.delete(`${BASE_PATH}/video_generation/:id`, remove)
  app.get(
    `${MEDIA_PATH}/:id`,
    open('media', (request) => resultFile(kit, request)),
  )
}

/** The `/provB` video upstream: create with its challenge, query, list, delete, callbacks, files. */
export const videoB: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    kit.callbacks.renderWith(FAMILY, (task, segment) => taskBody(kit, task, segment))
    addRoutes(app, kit)
    // Accounts of videos take files as those of speech do.
    addUploadRoute(app, kit, speechWire(kit, FAMILY), '/video-b')
    addDownloadRoute(app, kit)
  },
}
