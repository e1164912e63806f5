import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { NO_MARKERS, type PromptMarkers } from '../faults/marker.ts'
import { UnknownSwitch, type Faults } from '../faults/vocabulary.ts'
import { runExchange, type Answer } from '../http/exchange.ts'
import { randomHex } from '../kit/random.ts'
import { isLetIn } from '../text/run.ts'
import { isTerminal } from '../tasks/timeline.ts'
import { MEDIA_PATH, taskBody } from './body.ts'
import { errorAnswer, failureAnswer, messageOf, Refusal } from './errors.ts'
import { resultFile } from './media.ts'
import { modes, parseBody, type Fields } from './parse.ts'
import { FAMILY, markersOf, VideoService } from './service.ts'
import { CallbackKeys } from './signature.ts'

const BASE_PATH = '/ent/v2'

/** One request of this family before it is acted on. */
interface Call {
  readonly op: string
  readonly id?: string
  readonly body?: Fields
  readonly markers?: PromptMarkers
  readonly perform: (faults: Faults) => Answer | Promise<Answer>
}

/** Runs a call: faults, then what was asked; a refusal becomes an answer. */
async function run(kit: FamilyKit, call: Call, request: FastifyRequest, reply: FastifyReply) {
  const { op, id = null, body = {}, markers = NO_MARKERS, perform } = call
  const traceId = (): string => randomHex(kit.random, 32)
  const record = id === null ? undefined : kit.store.get(id)?.record
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  await runExchange(
    kit,
    {
      family: FAMILY,
      op,
      subject: {
        id,
        model: text(body['model']) ?? record?.model ?? null,
        clientMarker: markers.clientMarker ?? record?.clientMarker ?? null,
        safetyIdentifier: text(body['payload']) ?? record?.safetyIdentifier ?? null,
      },
      promptFaults: markers.faults,
      perform: async (faults) => {
        try {
          return await perform(faults)
        } catch (error) {
          if (!(error instanceof Refusal)) throw error
          return errorAnswer(error.reason, error.message, traceId())
        }
      },
      refusal: (reason) => errorAnswer(reason, messageOf(reason), traceId()),
      failure: (status) => failureAnswer(status, traceId()),
    },
    request,
    reply,
  )
  return reply
}

/** `Token`, not `Bearer`. @throws Refusal when it is missing or not let in */
function credentialOf(kit: FamilyKit, keys: CallbackKeys, request: FastifyRequest): string {
  const key = /^Token\s+(\S+)$/.exec(request.headers.authorization ?? '')?.[1]
  if (key === undefined || !isLetIn(kit.options.apiKeys, key)) throw new Refusal('Unauthorized')
  keys.learn(key)
  return key
}

function queryOf(request: FastifyRequest): URLSearchParams {
  return new URL(request.url, 'http://sandbox').searchParams
}

function idOf(request: FastifyRequest): string {
  return (request.params as { readonly id: string }).id
}

/** A body that cannot be read or a marker that does not exist is refused once the credential was checked. */
function readBody(request: FastifyRequest) {
  try {
    const body = parseBody(Buffer.isBuffer(request.body) ? request.body : null)
    return { body, markers: markersOf(body), fault: null }
  } catch (error) {
    const fault =
      error instanceof UnknownSwitch ? new Refusal('FieldInvalid', error.message) : error
    if (!(fault instanceof Refusal)) throw fault
    return { body: {}, markers: NO_MARKERS, fault }
  }
}

function addRoutes(app: FastifyInstance, kit: FamilyKit, keys: CallbackKeys): void {
  const service = new VideoService(kit)
  const handle =
    (callOf: (request: FastifyRequest) => Call) => (request: FastifyRequest, reply: FastifyReply) =>
      run(kit, callOf(request), request, reply)
  const sent = (
    request: FastifyRequest,
    op: string,
    act: (body: Fields, credential: string, faults: Faults) => Answer | Promise<Answer>,
  ): Call => {
    const { body, markers, fault } = readBody(request)
    return {
      op,
      body,
      markers,
      perform: (faults) => {
        const credential = credentialOf(kit, keys, request)
        if (fault !== null) throw fault
        return act(body, credential, faults)
      },
    }
  }
  const asked = (
    request: FastifyRequest,
    op: string,
    act: (credential: string, faults: Faults) => Answer,
  ): Call => ({ op, perform: (faults) => act(credentialOf(kit, keys, request), faults) })

  for (const mode of modes)
    app.post(
      `${BASE_PATH}/${mode}`,
      handle((request) =>
        sent(request, 'create', (body, credential, faults) =>
          service.create(mode, body, credential, faults),
        ),
      ),
    )
  app.post(
    `${BASE_PATH}/tasks/:id/cancel`,
    handle((request) => ({
      ...sent(request, 'cancel', (body) => service.cancel(idOf(request), body)),
      id: idOf(request),
    })),
  )
  app.get(
    `${BASE_PATH}/tasks/:id/creations`,
    handle((request) => ({
      ...asked(request, 'get', () => service.get(idOf(request))),
      id: idOf(request),
    })),
  )
  app.get(
    `${BASE_PATH}/tasks`,
    handle((request) =>
      asked(request, 'list', (_credential, faults) => service.list(queryOf(request), faults)),
    ),
  )
  app.get(
    `${BASE_PATH}/credits`,
    handle((request) => asked(request, 'credits', (credential) => service.credits(credential))),
  )
  app.get(
    `${MEDIA_PATH}/:id`,
    handle((request) => ({
      op: 'media',
      perform: () => resultFile(kit, idOf(request), queryOf(request), request),
    })),
  )
}

/** The `/provC` video upstream: four ways to create, query, list, cancel, callbacks, credits, files. */
export const videoC: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    const keys = new CallbackKeys(kit.random, kit.nowMs)
    kit.callbacks.renderWith(
      FAMILY,
      (task, segment) => {
        // Nobody is told that a task waits.
        if (segment.phase !== 'running' && !isTerminal(segment.phase)) return null
        const site = { baseUrl: kit.baseUrl(), urlSeconds: kit.options.urlSeconds }
        return taskBody(task, segment, site, kit.clock.nowMs())
      },
      (task, target) => keys.headersFor(task, target),
    )
    addRoutes(app, kit, keys)
  },
}
