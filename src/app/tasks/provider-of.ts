import { invariant } from '../../kernel/assert.ts'
import type { TaskProvider } from '../ports/provider.ts'
import type { TaskDeps } from './deps.ts'

/** The adapter of a family. */
export function providerOf(deps: Pick<TaskDeps, 'providers'>, family: string): TaskProvider {
  const provider = deps.providers.get(family)
  invariant(provider, `every family has a provider: ${family}`)
  return provider
}
