import type { FastifyInstance, FastifyRequest } from 'fastify'
import { credentialHash } from '../calls/store.ts'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { parseMarkers, type Faults, isOn } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { Refusal } from '../http/wire.ts'
import { textIn } from '../kit/body.ts'
import { type Random, randomInteger } from '../kit/clock.ts'
import { partOfFile, signedFile } from '../media/files.ts'
import { mp4OfSeconds, pictureOf } from '../media/pictures.ts'
import { isTerminal } from '../tasks/record.ts'
import { type BodyWire, type RequestWithBody, taskHandlers } from '../tasks/run.ts'
import { FamilyTasks, numberIn } from '../tasks/service.ts'
import {
  detailOf,
  MEDIA_PATH,
  planOf,
  settingsBody,
  stateOf,
  taskBody,
  usageOf,
  type VideoDetail,
} from './body.ts'
import {
  type Mode,
  modes,
  parseBody,
  parseRequest,
  CallbackKeys,
  refusalOf,
  videoWire,
} from './parse.ts'

const FAMILY = 'video-c'
const BASE_PATH = '/ent/v2'
const MAX_PAGE = 100
/** What every account begins with. */
const CREDITS = 1_000_000_000

const bodies: BodyWire = {
  parse: parseBody,
  markersOf: (body) => parseMarkers(textIn(body, 'prompt') ?? ''),
  safetyMember: 'payload',
}

/** The operations of this wire; each throws Refusal for what it refuses. */
class VideoService {
  readonly #kit: FamilyKit
  readonly #tasks: FamilyTasks

  constructor(kit: FamilyKit) {
    this.#kit = kit
    const missing = (): Refusal => refusalOf('TaskNotFound')
    this.#tasks = new FamilyTasks(kit, FAMILY, missing, (...found) => taskBody(kit, ...found))
  }

  /** Accepts a task: answered only once it is durable. */
  async create(mode: Mode, { body, credential, faults }: RequestWithBody): Promise<Answer> {
    const { options, random } = this.#kit
    const request = parseRequest(mode, body)
    const { model, prompt, payload, bgm } = request
    const detail = detailOf(request, faults, random, digits(random))
    const record = await this.#tasks.accept({
      id: this.#tasks.freshId(() => digits(random)),
      model,
      // Other wires have a separate field for it.
      safetyIdentifier: payload === '' ? null : payload,
      clientMarker: parseMarkers(prompt).clientMarker,
      credential,
      plan: planOf(request, faults, options),
      ...usageOf(detail, faults),
      detail: { ...detail },
    })
    return ok({
      task_id: record.id,
      state: 'created',
      ...settingsBody(record),
      prompt,
      images: [],
      payload,
      bgm,
      off_peak: request.offPeak,
      credits: detail.credits,
    })
  }

  get(id: string): Answer {
    return ok(this.#tasks.render(this.#tasks.find(id)))
  }

  /** Newest first. */
  list(query: URLSearchParams, faults: Faults): Answer {
    const page = pageNumber(query, 'pager.page', 0, 100_000)
    const size = pageNumber(query, 'pager.pagesz', 10, MAX_PAGE)
    const ids = new Set(query.getAll('task_ids').filter((id) => id !== ''))
    const { items, hasMore } = this.#tasks.list({
      page,
      size,
      faults,
      fits: ({ record }) => ids.size === 0 || ids.has(record.id),
    })
    const tasks = items.map((found) => ({
      ...this.#tasks.render(found),
      ...settingsBody(found[0].record),
      ...(isOn(faults, 'unmarked') ? { payload: '' } : {}),
      ...(isOn(faults, 'usage-missing') ? { credits: undefined } : {}),
    }))
    return ok({ tasks, next_page_token: hasMore ? 'more' : '' })
  }

  /** Cancels what waits; its credits come back. */
  async cancel({ id, body }: RequestWithBody): Promise<Answer> {
    if (body['id'] !== id) throw new Refusal('FieldLacking', 'field id is lacking')
    const found = this.#tasks.find(id)
    const [task, state] = found
    if (state.phase !== 'queued') {
      const nowMs = this.#kit.clock.nowMs()
      const word = state.phase === 'running' ? 'scheduled' : stateOf(task, state, nowMs)
      throw new Refusal('BadRequest', `task state is ${word}, can not cancel`)
    }
    await this.#tasks.remove(found)
    return ok({})
  }

  /** What an account has left. */
  credits(credential: string): Answer {
    const { store, clock } = this.#kit
    const account = credentialHash(credential)
    const nowMs = clock.nowMs()
    const taken = store
      .all()
      .filter(({ record }) => record.family === FAMILY && record.credential === account)
      .filter((task) =>
        ['queued', 'running', 'succeeded'].includes(store.stateOf(task, nowMs).phase),
      )
      .reduce((sum, { record }) => sum + (record.detail as unknown as VideoDetail).credits, 0)
    return ok({ remains: [{ type: 'metered', credit_remain: CREDITS - taken }], packages: [] })
  }
}

function pageNumber(query: URLSearchParams, name: string, absent: number, max: number): number {
  const invalid = () => new Refusal('PageSizeOutOfRange', `${name} is out of range`)
  return numberIn(query, name, { absent, min: 0, max }, invalid)
}

/** Sixteen: as text only are all of them safe. */
function digits(random: Random): string {
  return `8${String(randomInteger(random, 1_000_000_000_000_000)).padStart(15, '0')}`
}

function ok(body: object): Answer {
  return { status: 200, body }
}

/** A result file, or the part asked for; its signed URL is the only credential. */
function resultFile(kit: FamilyKit, request: FastifyRequest): Promise<Answer> {
  const { range } = request.headers
  return signedFile(kit, request, MEDIA_PATH, async (name) => {
    const [, id = '', kind] = /^(\d{16})(\.mp4|-mark\.mp4|-cover\.png)$/.exec(name) ?? []
    const task = kit.store.get(id)
    if (task === null) return null
    if (kind === '-cover.png')
      return partOfFile(await pictureOf(64, 64, 'png', true), 'image/png', range)
    const { duration } = task.record.detail as unknown as VideoDetail
    return partOfFile(mp4OfSeconds(duration), 'video/mp4', range)
  })
}

function addRoutes(app: FastifyInstance, kit: FamilyKit, keys: CallbackKeys): void {
  const service = new VideoService(kit)
  const { asked, sent, open } = taskHandlers(kit, videoWire(kit, FAMILY, keys))
  const cancel = sent('cancel', bodies, (call) => service.cancel(call))
  const get = asked('get', ({ id }) => service.get(id))
  const list = asked('list', ({ query, faults }) => service.list(query, faults))
  const credits = asked('credits', ({ credential }) => service.credits(credential))

  for (const mode of modes)
    app.post(
      `${BASE_PATH}/${mode}`,
      sent('create', bodies, (call) => service.create(mode, call)),
    )
  app.post(`${BASE_PATH}/tasks/:id/cancel`, cancel)
  app.get(`${BASE_PATH}/tasks/:id/creations`, get)
  app.get(`${BASE_PATH}/tasks`, list)
  app.get(`${BASE_PATH}/credits`, credits)
  app.get(
    `${MEDIA_PATH}/:id`,
    open('media', (request) => resultFile(kit, request)),
  )
}

/** The `/provC` video upstream: four ways to create, query, list, cancel, callbacks, credits, files. */
export const videoC: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const keys = new CallbackKeys(kit.random, kit.nowMs)
    kit.callbacks.renderWith(
      FAMILY,
      (task, segment) =>
        // This wire sends no callback for a waiting task.
        segment.phase === 'running' || isTerminal(segment.phase)
          ? taskBody(kit, task, segment)
          : null,
      (task, target) => keys.headersFor(task, target),
    )
    addRoutes(app, kit, keys)
  },
}
