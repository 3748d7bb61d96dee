/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DOFI_LIST_H
#define DOFI_LIST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Circular, intrusive list. A node outside any list points to itself, so removing it twice is
 * harmless.
 */
struct dofi_list {
	struct dofi_list *next, *prev;
};

#define DOFI_CONTAINER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void dofi_list_init(struct dofi_list *l)
{
	l->next = l->prev = l;
}

static inline bool dofi_list_empty(const struct dofi_list *l)
{
	return l->next == l;
}

static inline void dofi_list_add_tail(struct dofi_list *head, struct dofi_list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void dofi_list_add(struct dofi_list *head, struct dofi_list *node)
{
	dofi_list_add_tail(head->next, node);
}

static inline void dofi_list_del(struct dofi_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	dofi_list_init(node);
}

static inline struct dofi_list *dofi_list_pop(struct dofi_list *head)
{
	struct dofi_list *node = head->next;

	if (node == head)
		return NULL;
	dofi_list_del(node);
	return node;
}

/* pos is declared, so it takes no parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
#define DOFI_LIST_FOR(pos, head) \
	for (struct dofi_list *pos = (head)->next; pos != (head); pos = pos->next)
/* The body may remove pos, but not its successor. */
#define DOFI_LIST_FOR_SAFE(pos, head)                                                      \
	for (struct dofi_list *pos = (head)->next, *pos##_next = pos->next; pos != (head); \
	     pos = pos##_next, pos##_next = pos->next)
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
