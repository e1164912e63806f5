import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FamilyKit } from '../family.ts'
import { NO_MARKERS, parseMarkers, type PromptMarkers } from '../faults/marker.ts'
import type { Faults } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import type { StreamAnswer } from '../http/stream.ts'
import { runOnWire, type Wire } from '../http/wire.ts'
import { jsonBody, textIn, type Fields } from '../kit/body.ts'

/** Who asked, and what they call themselves. */
export interface Asker {
  readonly credential: string
  readonly markers: PromptMarkers
  readonly safetyIdentifier: string | null
}

/** A call before it is acted on. */
export interface CallRequest {
  readonly op: string
  readonly model: string | null
  readonly body: Fields | null
  /** Where switches may stand: the last user message, or what is in its place. */
  readonly userText: string
  readonly perform: (
    asker: Asker,
    faults: Faults,
  ) => Answer | StreamAnswer | Promise<Answer | StreamAnswer>
}

/** Runs a call: faults, then what was asked; a refusal becomes an answer. */
export async function runCall(
  kit: FamilyKit,
  wire: Wire,
  { op, model, body, userText, perform }: CallRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  let markers: PromptMarkers = NO_MARKERS
  let fault: unknown = null
  try {
    markers = parseMarkers(userText)
  } catch (error) {
    fault = error
  }
  const safetyIdentifier = body === null ? null : textIn(body, 'safety_identifier')
  const subject = { model, id: null, clientMarker: markers.clientMarker, safetyIdentifier }
  const call = {
    op,
    subject,
    promptFaults: markers.faults,
    perform: async (faults: Faults) => {
      const credential = wire.credential(request)
      if (fault !== null) throw fault
      return perform({ credential, markers, safetyIdentifier }, faults)
    },
  }
  return runOnWire(kit, wire, call, request, reply)
}

/** What a family says of a call it reads; the rest follows from a JSON body. */
export type ReadCall = Pick<CallRequest, 'userText' | 'perform'> & Partial<CallRequest>

/** Adds a route of calls. */
export function addCall(
  app: FastifyInstance,
  kit: FamilyKit,
  wire: Wire,
  path: string,
  read: (body: Fields | null, request: FastifyRequest) => ReadCall | Promise<ReadCall>,
): void {
  app.post(path, async (request, reply) => {
    const body = jsonBody(request.body)
    const op = body?.['stream'] === true ? 'stream' : 'create'
    const call = { op, model: body && textIn(body, 'model'), body }
    return runCall(kit, wire, { ...call, ...(await read(body, request)) }, request, reply)
  })
}
