import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { parseMarkers, type PromptMarkers, type Faults, isOn } from '../faults/vocabulary.ts'
import { dottedWire, newRequestId } from '../http/dotted-wire.ts'
import type { Answer } from '../http/exchange.ts'
import { Refusal } from '../http/wire.ts'
import { type Fields, objectBody, objectsIn, textIn } from '../kit/body.ts'
import { randomBase36 } from '../kit/clock.ts'
import { noFile, signedFile, wholeFile } from '../media/files.ts'
import { mp4OfSeconds, pictureOf } from '../media/pictures.ts'
import { type BodyWire, type RequestWithBody, taskHandlers } from '../tasks/run.ts'
import { FamilyTasks, numberIn } from '../tasks/service.ts'
import { detailOf, MEDIA_PATH, planOf, taskBody, usageOf, type VideoDetail } from './body.ts'
import { checkAssets } from './content.ts'
import { parseRequest } from './parse.ts'

const FAMILY = 'video-a'
const BASE_PATH = '/api/v3/contents/generations/tasks'
const STATUSES = ['queued', 'running', 'succeeded', 'failed', 'expired', 'cancelled']
const MAX_PAGE = 500
const MAX_COUNTED = 200_000

const bodies: BodyWire = {
  parse: (body) =>
    objectBody(body, (isJson) => {
      const why = isJson ? 'must be a JSON object' : 'is not valid JSON'
      return new Refusal('InvalidParameter', `The request body ${why}.`)
    }),
  markersOf,
  safetyMember: 'safety_identifier',
}

/** The prompt's markers, as far as a body can be read at all. @throws UnknownSwitch */
function markersOf({ content }: Fields): PromptMarkers {
  return parseMarkers(
    objectsIn(content)
      .map((item) => textIn(item, 'text') ?? '')
      .join('\n'),
  )
}

/** The operations of this wire; each throws Refusal for what it refuses. */
class VideoService {
  readonly #kit: FamilyKit
  readonly #tasks: FamilyTasks
  readonly #downloads = new Map<string, number>()

  constructor(kit: FamilyKit) {
    this.#kit = kit
    const missing = (id: string): Refusal =>
      new Refusal('NotFound.Task', `The task \`${id.slice(0, 100)}\` is not found.`)
    this.#tasks = new FamilyTasks(kit, FAMILY, missing, (...found) => taskBody(kit, ...found))
  }

  /** Accepts a task: answered only once it is durable. */
  async create({ body, credential, faults }: RequestWithBody): Promise<Answer> {
    const { options, random, clock } = this.#kit
    const request = parseRequest(body, options)
    checkAssets(this.#kit, request.model, request.content.assets)
    const acceptedAtMs = clock.nowMs()
    const detail = detailOf(request, random, newRequestId(this.#kit))
    const stamp = new Date(acceptedAtMs).toISOString().slice(0, 19).replace(/[-:T]/g, '')
    const { id } = await this.#tasks.accept({
      id: this.#tasks.freshId(() => `cgt-${stamp}-${randomBase36(random, 5)}`),
      acceptedAtMs,
      model: request.model,
      requestedModel: request.requestedModel,
      safetyIdentifier: request.safetyIdentifier,
      clientMarker: parseMarkers(request.content.prompt).clientMarker,
      credential,
      plan: planOf(request, faults, options),
      ...usageOf(request, detail, faults),
      detail: { ...detail },
    })
    return this.#ok({ id })
  }

  get(id: string): Answer {
    return this.#ok(this.#tasks.render(this.#tasks.find(id)))
  }

  list(query: URLSearchParams, faults: Faults): Answer {
    const page = pageNumber(query, 'page_num', 1) - 1
    const size = pageNumber(query, 'page_size', 10)
    const [status, model, tier] = ['status', 'model', 'service_tier'].map(
      (name) => query.get(`filter.${name}`) ?? '',
    )
    if (status && !STATUSES.includes(status)) {
      const why = `The parameter \`filter.status\` must be one of ${STATUSES.join(', ')}.`
      throw new Refusal('InvalidParameter.filter.status', why, 'filter.status')
    }
    // Several ids come as a repeated parameter; a comma is part of an id here.
    const ids = new Set(query.getAll('filter.task_ids').filter((id) => id !== ''))
    const { items, total } = this.#tasks.list({
      page,
      size,
      faults,
      fits: ({ record }, { strange, phase }) =>
        (ids.size === 0 || ids.has(record.id)) &&
        (!status || (strange ?? phase) === status) &&
        (!model || model === record.model || model === record.requestedModel) &&
        (!tier || tier === record.detail['serviceTier']),
    })
    const shown = items.map((found) => {
      const body = this.#tasks.render(found)
      return isOn(faults, 'unmarked') ? { ...body, safety_identifier: undefined } : body
    })
    return this.#ok({ items: shown, total })
  }

  /** Cancels what is queued, deletes what has ended, refuses the rest. */
  async remove(id: string): Promise<Answer> {
    const found = this.#tasks.find(id)
    const [, { phase }] = found
    if (phase === 'running') {
      const why = `Cannot delete task \`${id}\` because it is currently running.`
      throw new Refusal('InvalidAction.RunningTaskDeletion', why)
    }
    if (phase === 'cancelled') {
      const why = `Deleting the cancelled task \`${id}\` is not supported.`
      throw new Refusal('InvalidParameter.TaskStatus', why)
    }
    await this.#tasks.remove(found)
    return this.#ok({})
  }

  /** A result file, so often; null for no such file. */
  async file(name: string): Promise<Answer | null> {
    const [, id = '', kind] = /^(cgt-\d{14}-[a-z0-9]{5})(\.mp4|\.mov|-last\.png)$/.exec(name) ?? []
    const task = this.#kit.store.get(id)
    if (task === null) return null
    const count = (this.#downloads.get(name) ?? 0) + 1
    if (count > this.#kit.options.maxDownloads) return noFile(403, 'DownloadLimitExceeded')
    if (this.#downloads.size >= MAX_COUNTED) this.#downloads.clear()
    this.#downloads.set(name, count)
    if (kind === '-last.png') return wholeFile(await pictureOf(64, 64, 'png', true), 'image/png')
    const { duration } = task.record.detail as unknown as VideoDetail
    return wholeFile(mp4OfSeconds(duration), kind === '.mov' ? 'video/quicktime' : 'video/mp4')
  }

  #ok(body: object): Answer {
    return { status: 200, body, headers: { 'x-request-id': newRequestId(this.#kit) } }
  }
}

function pageNumber(query: URLSearchParams, name: string, absent: number): number {
  return numberIn(query, name, { absent, min: 1, max: MAX_PAGE }, () => {
    const why = `The parameter \`${name}\` must be an integer from 1 to ${MAX_PAGE}.`
    return new Refusal(`InvalidParameter.${name}`, why, name)
  })
}

function addRoutes(app: FastifyInstance, kit: FamilyKit): void {
  const service = new VideoService(kit)
  const { asked, sent, open } = taskHandlers(kit, dottedWire(kit, FAMILY, 'content'))
  const create = sent('create', bodies, (call) => service.create(call))
  const get = asked('get', ({ id }) => service.get(id))
  const remove = asked('delete', ({ id }) => service.remove(id))
  const list = asked('list', ({ query, faults }) => service.list(query, faults))
  const file = (request: FastifyRequest) =>
    signedFile(kit, request, MEDIA_PATH, (name) => service.file(name))

  app.post(BASE_PATH, create)
  // There is no cancel route; this upstream was seen to take such a call for a creation.
  app.post(`${BASE_PATH}/:id/cancel`, create)
  app.get(`${BASE_PATH}/:id`, get)
  app.delete(`${BASE_PATH}/:id`, remove)
  app.get(BASE_PATH, list)
  app.get(`${MEDIA_PATH}/:id`, open('media', file))
}

/** The `/provA` video upstream: create, query, list, delete, callbacks and result files. */
export const videoA: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    kit.callbacks.renderWith(FAMILY, (task, segment) => taskBody(kit, task, segment))
    addRoutes(app, kit)
  },
}
