import type { SandboxAccount } from '../../../app/ports.ts'
import { artBModels } from '../rules/models.ts'

/** The sandbox as this wire's upstream; it knows the versions, under names of its own. */
export const artBSandbox: SandboxAccount = {
  id: 'sandbox-art-b',
  family: 'art-b',
  region: 'domestic',
  path: '/api/v3',
  models: Object.fromEntries(
    artBModels.map(({ name, version }) => [name, version.replace(/^artB/, 'drawing')]),
  ),
}
