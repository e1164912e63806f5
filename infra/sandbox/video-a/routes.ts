import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FamilyKit, SandboxFamily } from '../family.ts'
import { NO_MARKERS, type PromptMarkers } from '../faults/marker.ts'
import { UnknownSwitch, type Faults } from '../faults/vocabulary.ts'
import { runExchange, type Answer } from '../http/exchange.ts'
import { bearerKey } from '../text/run.ts'
import { MEDIA_PATH, taskBody } from './body.ts'
import {
  errorAnswer,
  failureAnswer,
  messageOf,
  newRequestId,
  Refusal,
} from '../http/dotted-errors.ts'
import { ResultFiles } from './media.ts'
import { parseBody, type Fields } from './parse.ts'
import { FAMILY, markersOf, VideoService } from './service.ts'

const BASE_PATH = '/api/v3/contents/generations/tasks'

/** One request of this family before it is acted on. */
interface Call {
  readonly op: string
  readonly id: string | null
  readonly body: Fields
  readonly markers: PromptMarkers
  readonly perform: (faults: Faults) => Answer | Promise<Answer>
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Runs a call: faults, then what was asked; a refusal becomes an answer. */
function run(kit: FamilyKit, call: Call, request: FastifyRequest, reply: FastifyReply) {
  const requestId = (): string => newRequestId(kit.random, kit.clock.nowMs())
  return runExchange(
    kit,
    {
      family: FAMILY,
      op: call.op,
      subject: { id: call.id, ...subjectOf(kit, call) },
      promptFaults: call.markers.faults,
      perform: async (faults) => {
        try {
          return await call.perform(faults)
        } catch (error) {
          if (!(error instanceof Refusal)) throw error
          return errorAnswer(error.code, error.message, error.param, requestId())
        }
      },
      refusal: (code) => errorAnswer(code, messageOf(code), '', requestId()),
      failure: (status) => failureAnswer(status, requestId()),
    },
    request,
    reply,
  )
}

/** What a fault rule may match: from the body of a create, else from the task that is meant. */
function subjectOf(kit: FamilyKit, call: Call) {
  const record = call.id === null ? undefined : kit.store.get(call.id)?.record
  return {
    model: textOf(call.body['model']) ?? record?.model ?? null,
    clientMarker: call.markers.clientMarker ?? record?.clientMarker ?? null,
    safetyIdentifier: textOf(call.body['safety_identifier']) ?? record?.safetyIdentifier ?? null,
  }
}

/** The credential of a request. @throws Refusal when it is missing or not let in. */
function credentialOf(kit: FamilyKit, request: FastifyRequest): string {
  const key = bearerKey(kit.options.apiKeys, request)
  if (key === null) throw new Refusal('AuthenticationError', messageOf('AuthenticationError'))
  return key
}

function queryOf(request: FastifyRequest): URLSearchParams {
  return new URL(request.url, 'http://sandbox').searchParams
}

function idOf(request: FastifyRequest): string {
  return (request.params as { readonly id: string }).id
}

/** A body that cannot be read or a marker that does not exist is refused once the credential was checked. */
function readCreate(request: FastifyRequest): {
  body: Fields
  markers: PromptMarkers
  fault: Refusal | null
} {
  try {
    const body = parseBody(Buffer.isBuffer(request.body) ? request.body : null)
    return { body, markers: markersOf(body), fault: null }
  } catch (error) {
    const fault =
      error instanceof UnknownSwitch
        ? new Refusal('InvalidParameter.SandboxMarker', `${error.message}.`, 'content')
        : error
    if (!(fault instanceof Refusal)) throw fault
    return { body: {}, markers: NO_MARKERS, fault }
  }
}

function addTaskRoutes(app: FastifyInstance, kit: FamilyKit): void {
  const service = new VideoService(kit)
  const handle =
    (call: (request: FastifyRequest) => Call) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      await run(kit, call(request), request, reply)
      return reply
    }

  const create = handle((request) => {
    const { body, markers, fault } = readCreate(request)
    return {
      op: 'create',
      id: null,
      body,
      markers,
      perform: (faults) => {
        const credential = credentialOf(kit, request)
        if (fault !== null) throw fault
        return service.create(body, credential, faults)
      },
    }
  })
  const onTask = (op: string, act: (id: string) => Answer | Promise<Answer>) =>
    handle((request) => ({
      op,
      id: idOf(request),
      body: {},
      markers: NO_MARKERS,
      perform: () => {
        credentialOf(kit, request)
        return act(idOf(request))
      },
    }))

  app.post(BASE_PATH, create)
  // There is no cancel route; this upstream was seen to take such a call for a creation.
  app.post(`${BASE_PATH}/:id/cancel`, create)
  app.get(
    `${BASE_PATH}/:id`,
    onTask('get', (id) => service.get(id)),
  )
  app.delete(
    `${BASE_PATH}/:id`,
    onTask('delete', (id) => service.remove(id)),
  )
  app.get(
    BASE_PATH,
    handle((request) => ({
      op: 'list',
      id: null,
      body: {},
      markers: NO_MARKERS,
      perform: (faults) => {
        credentialOf(kit, request)
        return service.list(queryOf(request), faults)
      },
    })),
  )
}

function addMediaRoute(app: FastifyInstance, kit: FamilyKit): void {
  const files = new ResultFiles(kit)
  app.get(`${MEDIA_PATH}/:id`, async (request, reply) => {
    const call: Call = {
      op: 'media',
      id: null,
      body: {},
      markers: NO_MARKERS,
      perform: () => files.answer(idOf(request), queryOf(request)),
    }
    await run(kit, call, request, reply)
    return reply
  })
}

/** The `/provA` video upstream: create, query, list, delete, callbacks and result files. */
export const videoA: SandboxFamily = {
  name: FAMILY,
  register: (app, kit) => {
    kit.callbacks.renderWith(FAMILY, (task, segment) =>
      taskBody(task, segment, { baseUrl: kit.baseUrl(), urlSeconds: kit.options.urlSeconds }),
    )
    addTaskRoutes(app, kit)
    addMediaRoute(app, kit)
  },
}
