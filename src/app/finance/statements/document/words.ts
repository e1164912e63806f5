import type { StatementRow } from './statement.ts'

/** The words of a statement in the languages of a billing profile. */
export interface StatementWords {
  readonly title: string
  readonly creditNote: string
  readonly preview: string
  readonly voided: string
  readonly demonstration: string
  readonly noInvoice: string
  readonly noTaxDocument: string
  readonly number: string
  readonly period: string
  readonly until: string
  readonly timeZone: string
  readonly currency: string
  readonly closedAt: string
  readonly issuer: string
  readonly customer: string
  readonly tenant: string
  readonly taxId: string
  readonly poNumber: string
  readonly opening: string
  readonly closing: string
  readonly usage: string
  readonly credit: string
  readonly description: string
  readonly quantity: string
  readonly exact: string
  readonly amount: string
  readonly nothing: string
  readonly creditNotes: string
  readonly creditNotesFor: string
  readonly refundedStatement: string
  readonly postedWith: string
  readonly noEarlierStatement: string
  readonly postings: string
  readonly late: string
  readonly accruals: string
  readonly held: string
  readonly unstated: string
  readonly byUser: string
  readonly user: string
  readonly model: string
  readonly lines: string
  readonly proof: string
  readonly proofHint: string
  readonly position: string
  readonly voidedAt: string
  readonly rows: Readonly<Record<Exclude<StatementRow['kind'], 'usage'>, string>>
  readonly otherSkus: string
  readonly pageOf: (page: number, pages: number) => string
}

const en: StatementWords = {
  title: 'Statement of account',
  creditNote: 'Credit note',
  preview: 'Preview',
  voided: 'Void',
  demonstration:
    'Demonstration: this statement was signed by a gateway without a public name, and no one is bound by it.',
  noInvoice: 'This statement is not a tax invoice.',
  noTaxDocument: 'This credit note is not a tax document.',
  number: 'Number',
  period: 'From',
  until: 'To (exclusive)',
  timeZone: 'Time zone',
  currency: 'Currency',
  closedAt: 'Closed',
  issuer: 'Issued by',
  customer: 'For',
  tenant: 'Account',
  taxId: 'Tax number',
  poNumber: 'Purchase order',
  opening: 'Opening balance',
  closing: 'Closing balance',
  usage: 'Usage',
  credit: 'Credit and refunds',
  description: 'Description',
  quantity: 'Quantity',
  exact: 'Exact',
  amount: 'Amount',
  nothing: 'No movements in this month.',
  creditNotes: 'Credit notes',
  creditNotesFor:
    'Refunds that were posted in this month, by the statement that has the refunded usage.',
  refundedStatement: 'Of statement',
  postedWith: 'Posted with',
  noEarlierStatement: 'no earlier statement',
  postings: 'Postings',
  late: 'Late postings',
  accruals: 'Not part of the closing balance at the end of the month',
  held: 'Held for running tasks',
  unstated: 'Used, not yet settled',
  byUser: 'Usage by user and model',
  user: 'User',
  model: 'Model',
  lines: 'Lines',
  proof: 'Proof',
  proofHint:
    'The signed head below covers every posting of this month. statement.json and postings.ndjson can be verified with it, without access to the gateway.',
  position: 'Position of the log',
  voidedAt: 'Voided',
  rows: {
    granted_paid: 'Credit bought',
    granted_promotional: 'Promotional credit',
    adjusted_usage: 'Refunds of usage',
    adjusted_grants: 'Corrections of credit',
    expired: 'Expired credit',
  },
  otherSkus: 'Other usage',
  pageOf: (page, pages) => `Page ${page} of ${pages}`,
}

const zh: StatementWords = {
  title: '对账单',
  creditNote: '贷记单',
  preview: '预览',
  voided: '作废',
  demonstration: '演示：本对账单由没有公开名称的网关签名，对任何人均无约束力。',
  noInvoice: '本对账单不是税务发票。',
  noTaxDocument: '本贷记单不是税务凭证。',
  number: '编号',
  period: '起始',
  until: '截止（不含）',
  timeZone: '时区',
  currency: '币种',
  closedAt: '结账时间',
  issuer: '出具方',
  customer: '客户',
  tenant: '账户',
  taxId: '税号',
  poNumber: '采购订单',
  opening: '期初余额',
  closing: '期末余额',
  usage: '用量',
  credit: '充值与退款',
  description: '项目',
  quantity: '数量',
  exact: '精确金额',
  amount: '金额',
  nothing: '本月没有变动。',
  creditNotes: '贷记单',
  creditNotesFor: '本月入账的退款，按被退款用量所属的对账单列示。',
  refundedStatement: '所属对账单',
  postedWith: '入账对账单',
  noEarlierStatement: '无更早的对账单',
  postings: '入账笔数',
  late: '迟到入账',
  accruals: '月末未计入期末余额的金额',
  held: '运行中任务的冻结金额',
  unstated: '已使用但尚未结算',
  byUser: '按用户和模型列示的用量',
  user: '用户',
  model: '模型',
  lines: '明细行数',
  proof: '证明',
  proofHint:
    '下方的签名树头涵盖本月全部入账。无需访问网关，即可用它验证 statement.json 与 postings.ndjson。',
  position: '日志位置',
  voidedAt: '作废时间',
  rows: {
    granted_paid: '购买的额度',
    granted_promotional: '赠送的额度',
    adjusted_usage: '用量退款',
    adjusted_grants: '额度更正',
    expired: '过期的额度',
  },
  otherSkus: '其他用量',
  pageOf: (page, pages) => `第 ${page} 页，共 ${pages} 页`,
}

export const statementWords: Readonly<Record<'en' | 'zh', StatementWords>> = { en, zh }
