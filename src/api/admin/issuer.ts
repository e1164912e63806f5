import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { IssuerProfile } from '../../domain/issuer/decider.ts'
import { actorOf, success, successOf } from '../kit/routes/account-surface.ts'
import { changeFailures, accountReadFailures } from '../kit/failures/route-failures.ts'
import type { Services } from '../kit/services.ts'
import { adminScopeOf, describeAdmin } from './envelope.ts'
import { partyBody, partyMembers, readParty, toParty } from './party.ts'
import { expectedRevision } from './settings.ts'

const IssuerBody = Type.Object(
  { ...partyBody('The name that statements are from.'), ...expectedRevision },
  {
    additionalProperties: false,
    description: 'The whole profile.',
    examples: [
      { legal_name: 'Tollgate Services Ltd', address: ['1 Gate Street', 'London'], country: 'GB' },
    ],
  },
)
const members = {
  object: Type.Literal('issuer'),
  revision: Type.Integer({ description: 'Incremented by each change; 0: never set.' }),
  ...partyMembers,
}

const unset: IssuerProfile = { revision: 0, legalName: '', address: [], country: '' }
const toIssuer = (profile: IssuerProfile) => ({
  object: 'issuer' as const,
  revision: profile.revision,
  ...toParty(profile),
})

/** Routes of the issuer, whom the statements of all tenants are from. */
export function issuerRoutes(
  instance: FastifyInstance,
  { issuer }: Pick<Services['accounts'], 'issuer'>,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get('/issuer', {
    config: { roles: [] },
    schema: describeAdmin({
      operationId: 'getIssuer',
      summary: 'Get whom statements are from (operators only)',
      ok: successOf(Type.Object(members, { named: 'Issuer' })),
      failures: [...accountReadFailures, 'scope_denied'],
    }),
    handler: async (request) => {
      const profile = await issuer.show(adminScopeOf(request))
      return success(toIssuer(profile ?? unset))
    },
  })
  const set = describeAdmin({
    operationId: 'setIssuer',
    summary: 'Set whom statements are from (operators only)',
    ok: successOf(Type.Object({ ...members, changed: Type.Boolean() }, { named: 'ChangedIssuer' })),
    failures: [...changeFailures, 'body_empty', 'issuer_invalid', 'issuer_changed'],
  })
  app.put('/issuer', {
    config: { roles: [] },
    schema: { ...set, body: IssuerBody },
    handler: async (request) => {
      const { expected_revision: basis, ...party } = request.body
      const wanted = readParty(party)
      const done = await issuer.set(adminScopeOf(request), actorOf(request), { wanted, basis })
      return success({ ...toIssuer(done.profile), changed: done.changed })
    },
  })
}
