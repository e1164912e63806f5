import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { TSchema } from 'typebox'
import type { CallerGone, CallFamily, CallInput, PricingInput } from '../../../app/calls/family.ts'
import type { CallRunner } from '../../../app/calls/running-calls.ts'
import type { Settlement } from '../../../domain/pricing/settlement.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { JsonText } from '../../../kernel/json-text.ts'
import { costInStream, setCallHeaders } from '../answers/answer-headers.ts'
import { principalOf } from '../tokens/authenticate.ts'
import { takeBodyText } from '../bodies/body-text.ts'
import { repeatFactsOf } from '../bodies/body-fingerprint.ts'
import { creationRoute, type SentBody } from './creation-route.ts'
import { sendEventStream } from '../answers/event-stream.ts'
import { CallKeySchema, keyedBy } from './idempotency.ts'
import { labelsOf } from './labels.ts'
import { type MemberNames, typoRefusal } from '../bodies/typo-check.ts'
import type { FormKind, Services } from '../services.ts'
import type { Mount, Surface } from './surface.ts'

/** Synchronous calls of a family, declared: the route, its price and its name follow. */

/** The parts of every call before its body is read. */
export interface AskedCall extends Pick<SentBody, 'form'> {
  readonly by: Pick<CallInput, 'principal' | 'surface' | 'requestId'>
  /** The path's value for its `{…}`; empty where it has none. */
  readonly part: string
  /** The text of the body, where the mount keeps it; a quote has none. */
  readonly written?: JsonText | undefined
}

/** A checked body: the family's input, and further data for the answer. */
interface AcceptedCall<Input> {
  readonly input: PricingInput<Input> & PricingInput<CallInput>
}

/** A call with the gateway's services. */
interface OpenedCall<Input extends CallInput, Request, Seen, Accepted> {
  /** Family that prices the call. */
  readonly family: Pick<CallFamily<Input, Request, Seen, unknown>, 'ready' | 'resolve'>
  /** Makes the call and answers it. */
  readonly answer: (
    accepted: Accepted,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => Promise<object | string>
}

interface Call<Input extends CallInput, Request, Seen, Accepted extends AcceptedCall<Input>> {
  /** Below the mount, with at most one `{…}`. */
  readonly path: string
  /** The path in the router's syntax, if that differs. */
  readonly route?: string
  /** The path the log shows, where several calls have one name. */
  readonly shownAs?: string
  /** Name of the surface in the log and the ledger. */
  readonly name: string
  readonly body: TSchema
  /** The form it takes as well; absent: only JSON is taken. */
  readonly forms?: FormKind
  /** How names of its members are checked; absent: as in other creations. */
  readonly names?: MemberNames
  /** The description of the route, without the body. */
  readonly documented: FastifySchema
  /** Checks a body. @throws DomainError naming the member */
  readonly accept: (
    body: JsonObject,
    asked: AskedCall,
    services: Services,
  ) => Accepted | Promise<Accepted>
  readonly open: (services: Services) => OpenedCall<Input, Request, Seen, Accepted>
}

/** The surface of one call. */
export function callSurface<
  Input extends CallInput,
  Request,
  Seen,
  Accepted extends AcceptedCall<Input>,
>(mount: Mount, call: Call<Input, Request, Seen, Accepted>): Surface {
  const { path, route = path, shownAs = path, name: surface, body, accept } = call
  const { prefix } = mount
  const namesOf = ({ http }: Services): MemberNames =>
    call.names ?? { foreign: http.foreignMembers }
  const { spellings } = call.names ?? {}
  const keepsText = mount.body?.keepsText === true
  return {
    mount,
    endpoints: { [surface]: `${prefix}${shownAs}` },
    bodies: [{ schema: body, ...(spellings === undefined ? {} : { spellings }) }],
    register: (app, services) => {
      const { answer } = call.open(services)
      return creationRoute(app, {
        path: route,
        schema: { ...call.documented, headers: CallKeySchema },
        body,
        names: namesOf(services),
        forms: call.forms && services.http.forms[call.forms],
        handler: async (sent, request, reply) => {
          const asked = {
            by: { principal: principalOf(request), surface, requestId: request.id },
            part: String(Object.values(Object(request.params) as object)[0] ?? ''),
            form: sent.form,
            ...(keepsText && { written: takeBodyText(request) }),
          }
          const labels = labelsOf(request, sent.body)
          const accepted = await accept(sent.body, asked, services)
          // From now on only the use case holds the body.
          request.body = undefined
          const facts = { ...keyedBy(request), ...repeatFactsOf(request), ...labels }
          const input = { ...accepted.input, ...facts }
          return answer({ ...accepted, input }, request, reply)
        },
      })
    },
    quotes: (services) => {
      const check = typoRefusal(body, namesOf(services))
      const { family: priced } = call.open(services)
      return [
        {
          path: `${prefix}${path}`,
          quote: async ({ principal, requestId, part, body: sent }) => {
            check(sent)
            const asked = { by: { principal, surface, requestId }, part, form: undefined }
            const { input } = await accept(sent, asked, services)
            return services.calls.quote(priced, input)
          },
        },
      ]
    },
  }
}

/** The whole body of a call, whose id and cost the answer's headers show. */
export async function answerWhole<Input extends CallInput, Request, Seen, Body>(
  runner: CallRunner,
  family: CallFamily<Input, Request, Seen, Body>,
  input: PricingInput<Input>,
  reply: FastifyReply,
): Promise<Body> {
  const callerGone = callerPresence(reply)
  const call = await runner.complete(family, { ...input, callerGone } as Input)
  setCallHeaders(reply, call)
  return call.body
}

/** A call whose answer is a stream, as its use case starts it. */
interface StreamedCall<Frame> {
  readonly callId: string
  readonly frames: AsyncIterable<Frame>
  readonly settlement: () => Settlement | undefined
}

/** Answers with the frames of a call, as a stream of events. */
export async function answerStream<Frame>(
  request: FastifyRequest,
  reply: FastifyReply,
  options: Omit<Parameters<typeof sendEventStream<Frame>>[2], 'started'> & {
    readonly call: Promise<StreamedCall<Frame>>
  },
): Promise<FastifyReply> {
  const started = options.call.then(({ callId, frames, settlement }) => ({
    headers: { 'x-call-id': callId },
    frames,
    settlement,
    cost: costInStream(request, settlement),
  }))
  await sendEventStream(request, reply, { ...options, started })
  return reply
}

/** Aborts if the connection closes before the answer is sent; never afterwards. */
export function callerGone(reply: FastifyReply): AbortController {
  const controller = new AbortController()
  const { raw } = reply
  const check = (): void => {
    if (!raw.writableFinished) controller.abort()
  }
  if (raw.destroyed) check()
  else raw.once('close', check)
  return controller
}

/**
 * A signal for a reader that usually checks it only at the end: it listens to the connection only
 * after its first listener is added.
 */
class CallerPresence implements CallerGone {
  readonly #reply: FastifyReply
  #controller: AbortController | undefined

  constructor(reply: FastifyReply) {
    this.#reply = reply
  }

  get aborted(): boolean {
    const { raw } = this.#reply
    return this.#controller?.signal.aborted ?? (raw.destroyed && !raw.writableFinished)
  }

  addEventListener(...given: Parameters<AbortSignal['addEventListener']>): void {
    this.#controller ??= callerGone(this.#reply)
    this.#controller.signal.addEventListener(...given)
  }
}

/** Whether a caller is still there. */
export function callerPresence(reply: FastifyReply): CallerGone {
  return new CallerPresence(reply)
}
