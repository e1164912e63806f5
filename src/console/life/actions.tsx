import type { JSX } from 'preact'
import { Type } from 'typebox'
import { adminScopeOf } from '../../api/admin/envelope.ts'
import { lifeRoles, NoteText, supportActorOf } from '../../api/admin/lives.ts'
import type { Services } from '../../api/kit/services.ts'
import type { Principal } from '../../app/access/principal.ts'
import { isOperator, type TokenRole } from '../../domain/token/events.ts'
import type { PageForm } from '../form-routes.ts'
import { lifeHref } from '../kit/href.ts'
import { ActionForm } from '../kit/form.tsx'
import { grouped } from '../kit/values.tsx'
import type { LifeView } from './panels.tsx'

/** Forms by which support acts on a life: they do the same as the commands and routes of that name. */

type Lives = Services['accounts']['lives']

interface LifeAction {
  readonly name: 'note' | 'poll' | 'give-up'
  /** The roles that may do it, in addition to admin tokens without one. */
  readonly roles: readonly TokenRole[]
  readonly act: (lives: Lives) => Lives['note'] | Lives['poll']
}

export const lifeActions: readonly LifeAction[] = [
  { name: 'note', roles: lifeRoles.note, act: (lives) => lives.note },
  { name: 'poll', roles: lifeRoles.poll, act: (lives) => lives.poll },
  { name: 'give-up', roles: lifeRoles.giveUp, act: (lives) => lives.giveUp },
]

const actionFields = Type.Object({ text: NoteText })

/** The form of an action. */
export function lifeForm(lives: Lives, action: LifeAction): PageForm<typeof actionFields> {
  const { name, roles, act } = action
  return {
    name,
    roles,
    fields: actionFields,
    act: async (request, { id, key, fields: { text } }) => {
      const input = { lifeId: id, text, name: { id: key, key: undefined } }
      await act(lives)(adminScopeOf(request), supportActorOf(request), input)
      return lifeHref(id)
    },
  }
}

/** Whether a token may do it, as far as its kind and role say. */
function mayDo({ kind, role }: Principal, { roles }: LifeAction): boolean {
  return kind === 'admin' && (role === undefined || roles.includes(role))
}

const titles = {
  note: 'Add a note',
  poll: 'Ask the provider again',
  'give-up': 'Give up',
} as const

function Words({ name, view }: { readonly name: LifeAction['name']; readonly view: LifeView }) {
  const { life, token, currency } = view
  if (name === 'note')
    return (
      <>
        The note is shown in this life, and is never changed or deleted.{' '}
        {isOperator(token)
          ? 'Operators can read it; the tenant cannot.'
          : 'Tokens that see the whole tenant can read it.'}
      </>
    )
  if (name === 'poll')
    return <>The next free worker asks for the result. The request is not sent again.</>
  const held = life.receipt?.held ?? '0'
  return (
    <>
      The task ends as failed: {held === '0' ? 'nothing' : `${grouped(held)} ${currency}`} is
      released and nothing is charged. The operator bears a cost that the provider reports later.
      This cannot be undone.
    </>
  )
}

/** Whether an action makes sense for a life as it is; the log decides when it is done. */
function isOffered(name: LifeAction['name'], { life, token }: LifeView): boolean {
  if (name === 'note') return true
  const isOpen = life.kind === 'task' && life.deadline_at !== null
  if (name === 'poll') return isOpen
  return isOpen && isOperator(token) && /^(?:uncertain|awaiting_usage)$/.test(life.state)
}

/** The forms that the reader may use; for others the command that does the same. */
export function Actions(view: LifeView): JSX.Element {
  const { life, token, fault, requestKey } = view
  const offered = lifeActions.filter(
    (action) => mayDo(token, action) && isOffered(action.name, view),
  )
  if (offered.length === 0)
    return (
      <p class="panel note">
        To add a note, sign in with an admin token, or use <code>tollgate note {life.id}</code>.
      </p>
    )
  return (
    <>
      {offered.map(({ name }) => (
        <ActionForm
          key={name}
          name={name}
          title={titles[name]}
          page={lifeHref(life.id)}
          requestKey={requestKey}
          fields={[{ name: 'text', label: name === 'note' ? 'Note' : 'Reason', isLong: true }]}
          button={titles[name]}
          fault={fault}
        >
          <Words name={name} view={view} />
        </ActionForm>
      ))}
    </>
  )
}
