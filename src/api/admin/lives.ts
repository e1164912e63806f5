import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { NoteInput, PostedNote, SupportActor } from '../../app/support/actions/life-actions.ts'
import { noteActions } from '../../domain/note/events.ts'
import type { TokenRole } from '../../domain/token/events.ts'
import { actorOf, NewId, success, successOf } from '../kit/routes/account-surface.ts'
import { PostingKeySchema } from '../kit/routes/idempotency.ts'
import { RequestError } from '../kit/request-error.ts'
import { changeFailures } from '../kit/failures/route-failures.ts'
import type { Services } from '../kit/services.ts'
import { markReplayed, postingName } from './credit.ts'
import { adminScopeOf, describeAdmin } from './envelope.ts'

/** Support writes notes about lives, asks providers again, and gives tasks up. */

/** The roles of admin tokens that may use each route. */
export const lifeRoles = {
  note: ['support'],
  poll: ['support'],
  giveUp: ['finance', 'support'],
} as const satisfies Record<string, readonly TokenRole[]>

const ParamsSchema = Type.Object({
  id: Type.String({ description: 'Every id that a life is found by.' }),
})
/** The text of a note, and the reason of an action. */
export const NoteText = Type.String({
  minLength: 1,
  maxLength: 1_000,
  description: '1 to 1,000 printable characters, in one or more lines.',
})
const noteId = Type.Optional(
  NewId('Id of the note instead of an Idempotency-Key; repeating the request changes nothing.'),
)
const NewNoteSchema = Type.Object(
  { text: NoteText, note_id: noteId },
  {
    named: 'NewNote',
    additionalProperties: false,
    examples: [{ note_id: 'call-4711', text: 'The customer was called; see ticket 4711.' }],
  },
)
const actionSchema = (named: string, example: { reason: string; note_id: string }) =>
  Type.Object(
    { reason: NoteText, note_id: noteId },
    { named, additionalProperties: false, examples: [example] },
  )
const PollSchema = actionSchema('AskAgain', {
  note_id: 'ask-4711',
  reason: 'The customer sees it finished at the provider.',
})
const GiveUpSchema = actionSchema('GiveUp', {
  note_id: 'give-up-4711',
  reason: 'The provider says that it has no such task.',
})

const posted = {
  object: Type.Literal('note'),
  id: Type.String(),
  tenant_id: Type.String(),
  about: Type.String({ description: "The gateway's id of the life." }),
  action: Type.Union([Type.Enum([...noteActions]), Type.Null()]),
  text: Type.String(),
  changed: Type.Boolean({ description: 'false: the same request had done it before.' }),
}
const NoteAnswerSchema = successOf(Type.Object(posted, { named: 'PostedNote' }))
const PollAnswerSchema = {
  ...successOf(
    Type.Object(
      {
        ...posted,
        due: Type.Enum(['now', 'leased'], {
          description:
            '`now`: the next free worker asks; `leased`: a worker has the task already, and asks within a minute.',
        }),
      },
      { named: 'AskedAgain' },
    ),
  ),
  description: 'The provider is asked soon; the life shows what it says.',
}

/** Failures of each of these routes. */
const noteFailures = [
  ...changeFailures.filter((code) => code !== 'log_outcome_unknown'),
  'body_empty',
  'invalid_request',
  'life_not_found',
  'note_exists',
  'too_many_notes',
  'idempotency_key_reused',
  'posting_outcome_unknown',
  'database_unavailable',
] as const

/** The person who acts by the token of a request. */
export function supportActorOf(request: FastifyRequest): SupportActor {
  const { tenantId, userId, tokenId, requestId: correlationId } = actorOf(request)
  return { correlationId, actor: tokenId, person: { tenantId, userId, tokenId } }
}

/** The name of a note. @throws RequestError `parameter_invalid` if there is none, or two */
function nameOf(request: FastifyRequest, id: string | undefined) {
  const name = postingName(request, 'note_id', id, 'posts nothing twice')
  if (name.key !== undefined && name.id !== undefined)
    throw new RequestError(
      'parameter_invalid',
      'Send an Idempotency-Key header or note_id, not both: each of them names the note',
      'note_id',
    )
  return name
}

/** A note, or the reason of an action, as a request asks for it. */
function inputOf(
  request: FastifyRequest<{ readonly Params: Static<typeof ParamsSchema> }>,
  text: string,
  noteId: string | undefined,
): NoteInput {
  return { lifeId: request.params.id, text, name: nameOf(request, noteId) }
}

function shownNote({ noteId: id, tenantId, about, action, text, changed }: PostedNote) {
  const object = 'note' as const
  return { object, id, tenant_id: tenantId, about, action: action ?? null, text, changed }
}

/** Routes of notes and actions about a life. */
export function adminLifeRoutes(
  instance: FastifyInstance,
  { lives }: Pick<Services['accounts'], 'lives'>,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const note = describeAdmin({
    operationId: 'postNote',
    summary: 'Write a note about a task, a call, an asset or a file',
    ok: NoteAnswerSchema,
    failures: noteFailures,
  })
  const given = { params: ParamsSchema, headers: PostingKeySchema }
  app.post('/lives/:id/notes', {
    config: { roles: lifeRoles.note },
    schema: { ...note, ...given, body: NewNoteSchema },
    handler: async (request, reply) => {
      const input = inputOf(request, request.body.text, request.body.note_id)
      const done = await lives.note(adminScopeOf(request), supportActorOf(request), input)
      markReplayed(reply, input.name, done.changed)
      return success(shownNote(done))
    },
  })
  pollRoute(instance, lives)
  giveUpRoute(instance, lives)
}

function pollRoute(instance: FastifyInstance, lives: Services['accounts']['lives']): void {
  const poll = describeAdmin({
    operationId: 'askAgain',
    summary: 'Ask the provider about a task now, and not at its next turn',
    ok: PollAnswerSchema,
    accepted: PollAnswerSchema,
    failures: [...noteFailures, 'poll_refused', 'task_ended'],
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().post('/lives/:id/poll', {
    config: { roles: lifeRoles.poll },
    schema: { ...poll, params: ParamsSchema, headers: PostingKeySchema, body: PollSchema },
    handler: async (request, reply) => {
      const input = inputOf(request, request.body.reason, request.body.note_id)
      const done = await lives.poll(adminScopeOf(request), supportActorOf(request), input)
      markReplayed(reply, input.name, done.changed)
      void reply.code(202)
      return success({ ...shownNote(done), due: done.due })
    },
  })
}

function giveUpRoute(instance: FastifyInstance, lives: Services['accounts']['lives']): void {
  const giveUp = describeAdmin({
    operationId: 'giveUpTask',
    summary: 'Give up a task whose outcome is not known: its hold is freed (operators only)',
    ok: NoteAnswerSchema,
    failures: [...noteFailures, 'give_up_refused'],
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().post('/lives/:id/give-up', {
    config: { roles: lifeRoles.giveUp },
    schema: { ...giveUp, params: ParamsSchema, headers: PostingKeySchema, body: GiveUpSchema },
    handler: async (request, reply) => {
      const input = inputOf(request, request.body.reason, request.body.note_id)
      const done = await lives.giveUp(adminScopeOf(request), supportActorOf(request), input)
      markReplayed(reply, input.name, done.changed)
      return success(shownNote(done))
    },
  })
}
