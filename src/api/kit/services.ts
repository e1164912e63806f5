import type { TenantAccess } from '../../app/access/tenant-access.ts'
import type { TokenStatus } from '../../app/access/token-status.ts'
import type { Authenticate, Principal } from '../../app/access/principal.ts'
import type { ManagedProposals } from '../../app/accounts/managed-proposals.ts'
import type { ManagedTenants } from '../../app/accounts/managed-tenants.ts'
import type { ManagedTokens } from '../../app/accounts/managed-tokens.ts'
import type { ManagedSettings } from '../../app/accounts/settings.ts'
import type { AssetUseCases } from '../../app/assets/types.ts'
import type { ImageCallFamily } from '../../app/calls/images/family.ts'
import type { CallRunner } from '../../app/calls/running-calls.ts'
import type { MediaUseCases } from '../../app/calls/uploads/types.ts'
import type { ChannelDirectory } from '../../app/channels/directory.ts'
import type { FileUseCases } from '../../app/files/types.ts'
import type { ResolveMediaFiles } from '../../app/files/uploads/media-files.ts'
import type { UploadQuota } from '../../app/files/uploads/quota.ts'
import type { ReadBalances } from '../../app/finance/balances.ts'
import type { ManagedIssuer } from '../../app/finance/statements/issuer.ts'
import type { ManagedVoids } from '../../app/finance/statements/void.ts'
import type { ReadModelPrices } from '../../app/finance/prices/model-prices.ts'
import type { ManagedPriceBooks } from '../../app/finance/prices/managed-price-books.ts'
import type { Statements } from '../../app/finance/statements/types.ts'
import type { BudgetStatus } from '../../app/spending/budgets/status.ts'
import type { Throttle } from '../../app/spending/throttle/throttle.ts'
import type { LifeActions } from '../../app/support/actions/life-actions.ts'
import type { Refusals } from '../../app/support/refusals.ts'
import type { Search } from '../../app/support/search.ts'
import type { SavedViews } from '../../app/support/actions/saved-views.ts'
import type { ViewTenant } from '../../app/support/actions/tenant-views.ts'
import type { ImageTaskUseCases } from '../../app/tasks/images/types.ts'
import type { TaskUseCases } from '../../app/tasks/types.ts'
import type { Catalog } from '../../domain/catalog/catalog.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { ResolveHost } from '../../kernel/public-url.ts'
import type { FingerprintOf } from './bodies/body-fingerprint.ts'
import type { StreamLimits } from './answers/event-stream.ts'
import type { ForeignNames } from './bodies/foreign-members.ts'
import type { FormLimits } from './bodies/multipart.ts'
import type { RefusedForms } from './bounds/refused-forms.ts'

/** Forms that routes take, by what they hold. */
export type FormKind = 'image' | 'file' | 'media'

/**
 * The use cases of a gateway, by what they are about. One object goes from the assembly to every
 * route; a route takes the groups that it uses, `Pick<Services, 'tasks' | 'http'>`.
 */
export interface Services {
  readonly clock: Clock
  /** The models on sale, and the accounts that serve them. */
  readonly models: {
    readonly catalog: Catalog
    readonly channels: Pick<
      ChannelDirectory,
      'all' | 'byId' | 'serving' | 'choose' | 'restingForMs' | 'isMerelyFull'
    >
    /** Finds what a tenant pays for them now. */
    readonly prices: ReadModelPrices
  }
  /** Tokens, as their holders use them. */
  readonly tokens: {
    readonly authenticate: Authenticate
    /** Refuses what the life of a tenant and of its users does not allow. */
    readonly tenantAccess: Pick<TenantAccess, 'check'>
    /** Called after a token was accepted. */
    readonly used: (tokenId: string) => void
    /** Called with each failed answer to a known token. */
    readonly refused: Refusals['count']
    /** Shows a token to its holder. */
    readonly show: (principal: Principal) => Promise<TokenStatus>
    /** Status of the budgets of a token and of its user. */
    readonly budgets: (principal: Principal) => Promise<readonly BudgetStatus[]>
  }
  /** Counts what a token asks for, and refuses what is beyond its limits. */
  readonly throttle: Pick<
    Throttle,
    'statuses' | 'query' | 'own' | 'free' | 'attempt' | 'refusedForms' | 'count'
  >
  /** Runs calls of any family. */
  readonly calls: CallRunner
  readonly tasks: TaskUseCases
  readonly images: {
    readonly family: ImageCallFamily
    readonly tasks: ImageTaskUseCases
  }
  /** The asset library and the verification of real persons. */
  readonly assets: AssetUseCases
  readonly files: {
    /** Files that the gateway keeps. */
    readonly kept: FileUseCases
    /** Files that accounts keep. */
    readonly media: MediaUseCases
    /** The uploaded files that a request names. */
    readonly find: ResolveMediaFiles
    readonly quota: Pick<UploadQuota, 'limits' | 'useOf'>
    /** Refuses what keeps something and is not billed. @throws DomainError `storage_full` */
    readonly checkDisk?: (() => Promise<void>) | undefined
  }
  /** Accounts, as they are managed over HTTP. */
  readonly accounts: {
    readonly tenants: ManagedTenants
    readonly proposals: ManagedProposals
    readonly issuer: ManagedIssuer
    readonly voids: ManagedVoids
    readonly tokens: ManagedTokens
    readonly settings: ManagedSettings
    readonly priceBooks: ManagedPriceBooks
    readonly balances: ReadBalances
    /** Closed months, their statements and proofs. */
    readonly statements: Statements
    /** Notes about tasks, calls, assets and files, and the safe actions of support. */
    readonly lives: LifeActions
    readonly viewTenant: ViewTenant
    readonly savedViews: SavedViews
  }
  readonly support: {
    /** Finds what an id, a name or a pasted text stands for. */
    readonly search: Search
    /** Names bodies, so that a repeated one is recognised. */
    readonly fingerprintOf: FingerprintOf
  }
  readonly hosts: {
    /** How hosts that callers name are resolved. */
    readonly resolve: ResolveHost
    /** Hosts of the operator's accounts: no caller may refer to files there. */
    readonly upstream: ReadonlySet<string>
  }
  /** The HTTP interface adds these: they follow from its bounds and from all surfaces together. */
  readonly http: {
    readonly forms: Readonly<Record<FormKind, FormLimits>>
    readonly streams: StreamLimits
    /** Members of other interfaces' creations, which a creation refuses. */
    readonly foreignMembers: ForeignNames
    /** Requests that are refused for their form, or without a known token. */
    readonly refusedForms: RefusedForms
    /** Paths by the ledger's names of their requests. */
    readonly endpoints: Readonly<Record<string, string>>
  }
}
