import { timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FamilyKit } from '../family.ts'
import { NO_MARKERS, parseMarkers, type PromptMarkers } from '../faults/marker.ts'
import type { Faults } from '../faults/vocabulary.ts'
import { type Answer, runExchange } from '../http/exchange.ts'
import type { StreamAnswer } from '../http/stream.ts'
import { type Fields, textIn } from '../kit/body.ts'
import type { Asker } from '../text/service.ts'

/** How one wire reads credentials and tells errors. */
export interface TextWire {
  readonly family: string
  /** The credential of a request. Throws the wire's refusal when it is missing or not let in. */
  readonly credential: (request: FastifyRequest) => string
  /** The answer for something thrown, or null when it is no refusal. */
  readonly refused: (error: unknown) => Answer | null
  readonly refusal: (code: string, faults: Faults) => Answer
  readonly failure: (status: number, faults: Faults) => Answer
}

/** One request of a text wire before it is acted on. */
export interface TextRequest {
  readonly op: string
  readonly model: string | null
  readonly body: Fields | null
  /** The last user message. */
  readonly userText: string
  readonly perform: (
    asker: Asker,
    faults: Faults,
  ) => Answer | StreamAnswer | Promise<Answer | StreamAnswer>
}

/** Whether a credential is let in. */
export function isLetIn(known: readonly string[], key: string): boolean {
  if (known.length === 0) return true
  const given = Buffer.from(key)
  return known.some((one) => {
    const wanted = Buffer.from(one)
    return wanted.length === given.length && timingSafeEqual(wanted, given)
  })
}

/** The bearer credential of a request; null when there is none, or none that is let in. */
export function bearerKey(known: readonly string[], request: FastifyRequest): string | null {
  const key = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  return key === undefined || !isLetIn(known, key) ? null : key
}

/** Runs a request: faults, then what was asked; a refusal becomes an answer. */
export async function runText(
  kit: FamilyKit,
  wire: TextWire,
  asked: TextRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  let markers: PromptMarkers = NO_MARKERS
  let fault: unknown = null
  try {
    markers = parseMarkers(asked.userText)
  } catch (error) {
    fault = error
  }
  const safetyIdentifier = asked.body === null ? null : textIn(asked.body, 'safety_identifier')
  await runExchange(
    kit,
    {
      family: wire.family,
      op: asked.op,
      subject: {
        model: asked.model,
        id: null,
        clientMarker: markers.clientMarker,
        safetyIdentifier,
      },
      promptFaults: markers.faults,
      perform: async (faults) => {
        try {
          const credential = wire.credential(request)
          if (fault !== null) throw fault
          return await asked.perform({ credential, markers, safetyIdentifier }, faults)
        } catch (error) {
          const answer = wire.refused(error)
          if (answer === null) throw error
          return answer
        }
      },
      refusal: wire.refusal,
      failure: wire.failure,
    },
    request,
    reply,
  )
  return reply
}
