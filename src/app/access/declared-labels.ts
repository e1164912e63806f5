import { Counter, type Registry } from 'prom-client'
import { type AccountSettings, settingIn } from '../../domain/account/settings.ts'
import type { NamedLabels, ReportingLabels } from '../../domain/reporting-labels.ts'
import { isPrintable } from '../../kernel/characters.ts'

const MAX_CHARACTERS = 128

/** Selects the labels of a request that its tenant has declared: all others are not recorded. */
export interface DeclaredLabels {
  /**
   * By the settings that this process has read of the tenant: to be asked once its prices are known.
   * A declared value that is no label counts as absent, because a setting of reports must not refuse
   * paid requests.
   */
  readonly of: (tenantId: string, named: NamedLabels | undefined) => ReportingLabels
}

export function createDeclaredLabels(
  facts: { readonly known: (tenantId: string) => AccountSettings },
  registry: Registry,
): DeclaredLabels {
  const ignored = new Counter({
    name: 'tollgate_tags_ignored_total',
    help: 'Tags and end users that a tenant declared and a request named, but not as text of 1 to 128 characters.',
    registers: [registry],
  })
  const isLabel = (value: unknown): value is string => {
    if (typeof value === 'string' && isPrintable(value, MAX_CHARACTERS)) return true
    ignored.inc()
    return false
  }
  return {
    of: (tenantId, named) => {
      if (named === undefined) return {}
      const { tags: all = {}, endUser } = named
      const declared = settingIn(facts.known(tenantId), 'reporting')
      const tags = declared.tagKeys.flatMap((key) => {
        const value = Object.hasOwn(all, key) ? all[key] : undefined
        return value !== undefined && isLabel(value) ? [[key, value] as const] : []
      })
      return {
        ...(tags.length === 0 ? {} : { tags: Object.fromEntries(tags) }),
        ...(declared.endUser && endUser !== undefined && isLabel(endUser) ? { endUser } : {}),
      }
    },
  }
}
