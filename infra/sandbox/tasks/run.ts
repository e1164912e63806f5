import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FamilyKit } from '../family.ts'
import { NO_MARKERS, type PromptMarkers, type Faults } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { idInPath, queryOf, runOnWire, type Wire } from '../http/wire.ts'
import { NO_FIELDS, textIn, type Fields } from '../kit/body.ts'

/** How one wire of tasks reads the bodies it is sent. */
export interface BodyWire {
  /** The body as an object. @throws Refusal */
  readonly parse: (body: Buffer | null) => Fields
  /** The prompt's markers, as far as a body can be read at all. @throws UnknownSwitch */
  readonly markersOf: (body: Fields) => PromptMarkers
  /** The member that identifies callers, where there is one. */
  readonly safetyMember?: string
}

/** A request whose credential is let in. */
interface Asked {
  /** The task's id; empty where none is meant. */
  readonly id: string
  readonly query: URLSearchParams
  readonly credential: string
  readonly faults: Faults
}

/** One that has a body. */
export interface RequestWithBody extends Asked {
  readonly body: Fields
}

type EventualAnswer = Answer | Promise<Answer>
type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>
type IdOf = (request: FastifyRequest) => string

/** One request before it is acted on. */
interface Call {
  readonly op: string
  readonly id: string
  readonly model?: string | null
  readonly safetyIdentifier?: string | null
  readonly markers?: PromptMarkers
  readonly perform: (faults: Faults) => EventualAnswer
}

/** Makes the handlers of a wire: each runs a request with its faults, and a refusal becomes an answer. */
export function taskHandlers(kit: FamilyKit, wire: Wire) {
  const handle =
    (callOf: (request: FastifyRequest) => Call): Handler =>
    (request, reply) => {
      const { op, id, markers = NO_MARKERS, perform, ...details } = callOf(request)
      // What a fault rule may match: from the body of a creation, else from the task that is meant.
      const record = kit.store.get(id)?.record
      const subject = {
        id: id === '' ? null : id,
        model: details.model ?? record?.model ?? null,
        clientMarker: markers.clientMarker ?? record?.clientMarker ?? null,
        safetyIdentifier: details.safetyIdentifier ?? record?.safetyIdentifier ?? null,
      }
      const call = { op, subject, promptFaults: markers.faults, perform }
      return runOnWire(kit, wire, call, request, reply)
    }
  const askedOf = (request: FastifyRequest, id: string, faults: Faults): Asked => ({
    id,
    query: queryOf(request),
    credential: wire.credential(request),
    faults,
  })
  return {
    /** Without a body. */
    asked: (op: string, act: (asked: Asked) => EventualAnswer, idOf: IdOf = idInPath): Handler =>
      handle((request) => {
        const id = idOf(request)
        return { op, id, perform: (faults) => act(askedOf(request, id, faults)) }
      }),
    /** With one, which is refused only once the credential was checked. */
    sent: (op: string, bodies: BodyWire, act: (sent: RequestWithBody) => EventualAnswer): Handler =>
      handle((request) => {
        const id = idInPath(request)
        const { body, markers, fault } = readBody(wire, bodies, request)
        const { safetyMember } = bodies
        return {
          op,
          id,
          model: textIn(body, 'model'),
          safetyIdentifier: safetyMember === undefined ? null : textIn(body, safetyMember),
          markers,
          perform: (faults) => {
            const asked = askedOf(request, id, faults)
            if (fault !== null) throw fault
            return act({ ...asked, body })
          },
        }
      }),
    /** Without a credential: the URL is enough. */
    open: (
      op: string,
      act: (request: FastifyRequest) => EventualAnswer,
      idOf: IdOf = () => '',
    ): Handler => handle((request) => ({ op, id: idOf(request), perform: () => act(request) })),
  }
}

function readBody(wire: Wire, bodies: BodyWire, request: FastifyRequest) {
  try {
    const body = bodies.parse(Buffer.isBuffer(request.body) ? request.body : null)
    return { body, markers: bodies.markersOf(body), fault: null }
  } catch (fault) {
    if (wire.refused(fault) === null) throw fault
    return { body: NO_FIELDS, markers: NO_MARKERS, fault }
  }
}
