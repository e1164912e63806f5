import { DomainError } from '../../../kernel/errors.ts'
import { RequestError } from '../../../api/kit/request-error.ts'

/** What the URL of a request to the asset library asks for. */

export const actionNames = [
  'CreateAssetGroup',
  'CreateAsset',
  'ListAssetGroups',
  'ListAssets',
  'GetAssetGroup',
  'GetAsset',
  'UpdateAsset',
  'UpdateAssetGroup',
  'DeleteAsset',
  'DeleteAssetGroup',
  'CreateVisualValidateSession',
  'GetVisualValidateResult',
] as const
export type ActionName = (typeof actionNames)[number]

/** The one version there is. */
export const VERSION = '2024-01-01'

const parameters: readonly string[] = ['Action', 'Version']
/** Longest text of a caller's that a refusal repeats. */
const MAX_SHOWN_CHARACTERS = 64

/** As much of it as is known. */
export interface Asked {
  readonly action: ActionName | undefined
  readonly version: typeof VERSION | undefined
}

/** Whether a URL is that of the library: `/provA/`, with or without its last slash. */
export function isLibraryUrl(url: string): boolean {
  return /^\/provA\/?(?:[?#]|$)/.test(url)
}

function actionOf(name: unknown): ActionName | undefined {
  return actionNames.find((known) => known === name)
}

/** What a URL asks for, right or wrong: for the failures of requests that nobody has read. */
export function askedOf(url: string): Asked {
  const at = url.indexOf('?')
  const query = new URLSearchParams(at === -1 ? '' : url.slice(at + 1))
  return {
    action: actionOf(query.get('Action')),
    version: query.get('Version') === VERSION ? VERSION : undefined,
  }
}

/**
 * The action of a query that is right in all.
 * @throws RequestError `parameter_invalid`; `route_not_found` for an action that is none
 * @throws DomainError `invalid_request` where there is no `Action`
 */
export function readAction(query: Readonly<Record<string, unknown>>): ActionName {
  const unknown = Object.keys(query).find((name) => !parameters.includes(name))
  if (unknown !== undefined) {
    const shown = unknown.slice(0, MAX_SHOWN_CHARACTERS)
    const message = `\`${shown}\` is not a query parameter here; this takes ${parameters.join(', ')}`
    throw new RequestError('parameter_invalid', message, shown)
  }
  const { Action: given, Version: version } = query
  if (given === undefined || given === '')
    throw new DomainError('invalid_request', `\`Action\` is required: one of ${choices}`, {
      param: 'Action',
      lacks: 'Action',
    })
  if (typeof given !== 'string')
    throw new RequestError('parameter_invalid', '`Action` must be given once', 'Action')
  const action = actionOf(given)
  if (action === undefined) {
    const shown = given.slice(0, MAX_SHOWN_CHARACTERS)
    throw new RequestError(
      'route_not_found',
      `There is no action ${shown}; there are ${choices}`,
      'Action',
    )
  }
  if (version !== VERSION)
    throw new RequestError('parameter_invalid', `\`Version\` must be ${VERSION}`, 'Version')
  return action
}

const choices = actionNames.join(', ')
